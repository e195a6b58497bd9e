
    return new