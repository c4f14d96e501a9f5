"""Files on disk: the append-only file, snapshots, their children and their loading."""
