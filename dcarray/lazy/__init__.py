"""The life of a deferred expression, in order: `graph` records it, `fuse` groups it
into programs, `route` chooses a device, `execute` runs it."""
