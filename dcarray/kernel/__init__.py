"""What a kernel is: the frozen IR and everything that works on it without a device.

`nodes` defines the IR, `language` the words that kernel source may use, `parse` turns
Python source into IR for given dtypes (`infer` finds the dtypes), `verify` states the
rules, `rewrite` holds the passes and `interpret` runs a kernel with NumPy alone.
Nothing here knows an operation of the library, a renderer or a device.
"""
