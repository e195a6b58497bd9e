import os

os.replace("a", "b")  # atomic
