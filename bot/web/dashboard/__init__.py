"""The operator's pages: the inbox and what stands beside it. Loaded when the first of them is opened."""
