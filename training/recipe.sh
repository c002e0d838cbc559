#!/bin/sh
# The recipe of the weights that ship: public and adversarial rows first, then natural ones with some of the first mixed
# in, so that nothing is forgotten: recipe.sh WORK [SEED]. WORK holds what prepare.py wrote.
set -eu
work=$1
seed=${2:-0}
here=$(dirname "$0")
# Large tensors come and go at every step; keeping their memory makes training a third faster on a processor.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=500000000
groups="authored-consumer authored-encyclopedia authored-engineering authored-health authored-office authored-software"

python "$here/train.py" "$work" "first-$seed" --seed "$seed" --sets public $groups
python "$here/train.py" "$work" "second-$seed" --seed "$seed" --start "first-$seed" --sets natural authored public:0.3
python "$here/export.py" matcher "$work" "second-$seed" --target "$work/runs/second-$seed"
python "$here/fuse.py" "$work" "second-$seed"
cp "$work/runs/second-$seed/matcher.onnx" "$here/../src/ragtriage/judges/embedded/model/"
