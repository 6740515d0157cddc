"""Fits on many machines by engines that are there already, to the bytes of a fit on one.

`countgrid.distributed.dask` needs the extra `dask`: `pip install countgrid[dask]`; `countgrid.distributed.spark` needs `countgrid[spark]`,
and Java.
"""
