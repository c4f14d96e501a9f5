"""`rillway check`: what is in files of data, where they are broken, and cutting a torn end off."""
