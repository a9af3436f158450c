"""Text where it lies: paths of other machines (`hf://`, `s3://`, `https://`), read
through the file systems of fsspec.
"""
