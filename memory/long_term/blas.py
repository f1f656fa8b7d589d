"""numpy's matrix library on one thread."""

from importlib import import_module
from importlib.util import find_spec


def use_one_thread() -> None:
    """Have products of matrices done by the thread that asks for them.

    By default OpenBLAS spreads even small ones over all cores and spins while it waits: on two busy cores
    that made an embedding take 330 ms instead of 8.
    """
    if find_spec("threadpoolctl") is not None:
        import_module("threadpoolctl").threadpool_limits(limits=1, user_api="blas")
