#!/bin/sh
# The recipe of the weights that ship: recipe.sh WORK TRAIN TEACHER. WORK holds what packed.py wrote, TRAIN natural/*.jsonl,
# TEACHER is a folder with all-mpnet-base-v2 as transformers reads it, or - to do without. The larger encoder learns from
# the labels, without a fold of the agreement sets; the small one learns from the labels and from what that one says.
# Three seeds are averaged, weight by weight; the one that left the fold out too is what agreement is measured with.
set -eu
work=$1
train=$2
base=$3
here=$(dirname "$0")
# Large tensors come and go at every step; keeping their memory makes training a third faster on a processor.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=500000000
teachers=""
if [ "$base" != - ]; then
    python "$here/train.py" "$work" teacher --base "$base" --rate 8e-5 --epochs 2 --fold 0 \
        --shares contrast:4 twins-sentences:0.15 twins-claims:0.4 natural:0.7 public:0.5
    teachers="--teachers teacher"
fi
student() { # RUN, and further options
    python "$here/train.py" "$work" "$@" --rate 3e-4 --epochs 4 --shares contrast:4 $teachers
    python "$here/export.py" reader "$work" "$1"
}
student final-0
student final-1 --seed 1
student fold-0 --fold 0
python "$here/export.py" mean "$work" mean final-0 final-1 fold-0
python "$here/fuse.py" "$work" "$train" mean
PYTHONPATH="$here/../bench" python "$here/calibrate.py" "$work" "$train" mean
for file in reader.onnx coefficients.json; do
    cp "$work/runs/mean/$file" "$here/../src/ragtriage/judges/embedded/model/"
done
