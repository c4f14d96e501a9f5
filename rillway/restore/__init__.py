"""`rillway restore`: a back-up as folders of servers, its check, and moments before it.

restoring: files of a back-up in a new folder, verified while they are written
moments:   which files have a moment, and cutting off what is later
checking:  digests, and a server that starts from the copy
"""
