#!/bin/sh
# The recipe of the weights that ship: recipe.sh WORK TEACHER [SEED]. WORK holds what prepare.py wrote, TEACHER is a folder
# with all-mpnet-base-v2 as transformers reads it, or - to do without. Two of the larger encoder learn from the labels, each
# without a fold of the agreement sets; the small one learns from the labels and from what these two say.
set -eu
work=$1
base=$2
seed=${3:-0}
here=$(dirname "$0")
# Large tensors come and go at every step; keeping their memory makes training a third faster on a processor.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_TOP_PAD_=500000000
groups="authored-consumer authored-encyclopedia authored-engineering authored-health authored-office authored-software"
all="public natural authored agreement"
student() { # RUN, and further options
    python "$here/train.py" "$work" "$@" --rate 2e-4 --epochs 4 --sets $all --read kept
}

teachers=""
if [ "$base" != - ]; then
    set -- --base "$base" --rate 5e-5
    python "$here/train.py" "$work" teacher "$@" --sets public $groups
    for fold in 0 1; do
        python "$here/train.py" "$work" "teacher-$fold" "$@" --start teacher --fold $fold --epochs 2 --read all \
            --sets natural authored agreement public:0.3
        # For measuring only: what is fitted here saw no row of the fold.
        student "fold-$fold" --fold $fold --teachers "teacher-$fold"
    done
    teachers="--teachers teacher-0 teacher-1"
fi
student "final-$seed" --seed "$seed" $teachers
python "$here/export.py" matcher "$work" "final-$seed" --target "$work/runs/final-$seed"
python "$here/fuse.py" "$work" "final-$seed"
cp "$work/runs/final-$seed/matcher.onnx" "$here/../src/ragtriage/judges/embedded/model/"
