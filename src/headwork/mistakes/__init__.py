"""The catalogue: known wrong rules, one file per step of the pipeline, as plain records in teaching order."""
