"""The pages beside the inbox, a file each; `registry` has their order."""
