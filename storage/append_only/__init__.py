"""The append-only file as bytes: requests, and the manifest that names the files."""
