"""What a kernel is: the frozen IR and everything that works on it without a device.

`nodes` defines the IR and `walk` goes over it.  `language` has the words that kernel
source may use; `parse` turns Python source into IR for given dtypes, reading
`expressions`, `branches` and statements in turn, with `infer` for the dtypes.  `verify`
states the rules, `rewrite` holds the passes, and `interpret` runs a kernel with NumPy
alone.  Nothing here knows an operation of the library, a renderer or a device.
"""
