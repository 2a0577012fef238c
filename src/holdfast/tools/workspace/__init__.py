"""The files of a workspace: safe paths, atomic writes, walks, snapshots."""
