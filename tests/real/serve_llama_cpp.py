"""llama.cpp's own server, as xllamacpp brings it.

python serve_llama_cpp.py tiny.gguf 8080
"""

import sys
import time

import xllamacpp

SLOTS = 2
CONTEXT = 32_768

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = SLOTS * CONTEXT
params.n_parallel = SLOTS
params.cpuparams.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)  # it serves until it is collected
while server:
    time.sleep(3600)
