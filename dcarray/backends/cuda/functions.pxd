# Closures need no types: this file says that the module is compiled.
