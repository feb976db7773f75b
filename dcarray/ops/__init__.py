"""What operations mean: tables with one row for each operation, and no way to run them.

`spec` says what a row is; `elementwise`, `composed`, `reduction`, `contraction` and
`indexing` are the tables; `bodies` turns a row's scalar body into IR; `program` is the
form in which a fused group of rows goes to a backend.
"""
