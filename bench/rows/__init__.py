"""The benchmarks, each a file with a coroutine `measure`."""
