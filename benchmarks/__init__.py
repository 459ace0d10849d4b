"""The figures of `docs/results`, each made by one small file: `python -m benchmarks [NAME ...] [--quick]`."""
