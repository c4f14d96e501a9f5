"""`rillway backup`: consistent copies of running servers, in a folder or an object store.

work:      one back-up, from the opening of files to its manifest
manifest:  what a back-up says of itself: files with their SHA-256, each node's moment
store:     the place of back-ups: a folder, or a prefix in an object store
source:    one server: what it is asked, and its files, opened
snapshot:  a snapshot from another machine, over PSYNC
copying:   files of one node into a back-up; with an earlier one, only what is new
catalogue: the back-ups of a place
nodes:     the nodes of a cluster
retention: which back-ups `--keep` leaves
"""
