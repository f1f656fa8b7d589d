"""Who is one and the same on several channels, what they are given together, and what stays apart."""
