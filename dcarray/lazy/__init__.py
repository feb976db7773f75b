"""The life of a deferred expression, in order: `record` writes it down in the `graph`,
`fuse` groups it into programs (`plain` is the short way), `route` chooses a device,
`execute` runs it, and `recover` says what happens when a device fails.

`compiled` keeps the kernels, `libraries` calls what does not fuse, `places` says where
results go, `errstate` knows NumPy's warnings, and `explain` shows a plan.  `validate`
compares with a second device, within the `bounds` of the operations."""
