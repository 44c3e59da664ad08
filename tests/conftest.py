"""One thread a process: tests run side by side, and threads that outnumber the cores wait for one another."""

import os
import signal
import threading

os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell's background job is started with Ctrl-C ignored, and so would be everything the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
