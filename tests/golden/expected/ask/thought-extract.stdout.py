os.replace(a, b)
