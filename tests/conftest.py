"""One thread a process: tests run side by side, and threads that outnumber the cores wait for one another."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
