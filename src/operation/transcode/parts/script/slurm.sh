transcode() {
    "$program" transcode "$@" "${options[@]}" --first-index "$first" -- "$source" "$destination"
}

# part PASS LAST EACH: what this task has of a pass, whatever becomes of one part.
part() {
    local index worst=0 status
    for ((index = SLURM_ARRAY_TASK_ID * $3; index < (SLURM_ARRAY_TASK_ID + 1) * $3; index++)); do
        ((index >= first && index <= $2)) || continue
        transcode --partition "$index" --pass "$1" "${resources[@]}"
        status=$?
        ((status < 128)) || exit "$status"
        ((status <= worst)) || worst=$status
    done
    exit "$worst"
}

# missing PASS: its parts that are not done, of what --status said, such as 3,7-9.
missing() {
    tr -d ' \n' <<<"$state" | tr '{}' '\n\n' | grep -F "\"name\":\"$1\"" | sed -n 's/.*"missing":"\([0-9,-]*\)".*/\1/p'
}

# tasks EACH LIST: the tasks that have these parts, as --array takes them.
tasks() {
    tr ',' '\n' <<<"$2" | awk -F- -v each="$1" '
        { from = int($1 / each); to = int($NF / each) }
        NR > 1 && from <= last { from = last + 1 }
        from <= to { list = list (list == "" ? "" : ",") (from == to ? from : from "-" to); last = to }
        END { print list }'
}

# submit OPTION...: to Slurm, after what was submitted before has ended, in whatever way: a part that comes too early says so at once.
submit() {
    local id
    id=$(sbatch --parsable "$@") || exit 3
    after=(--dependency="afterany:${id%%;*}")
    echo "submitted ${id%%;*}"
}

submit_all() {
    local after=() pass last list each state limit
    state=$(transcode --status --json)
    (($? <= 1)) || exit 3
    if grep -Eq '"complete": ?true' <<<"$state"; then
        echo "the job is complete"
        exit 0
    fi
    limit=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
    for pass in "${passes[@]}"; do
        list=$(missing "${pass%:*}")
        [ -n "$list" ] || continue
        last=$((first + ${pass#*:} - 1))
        each=$((last / ${limit:-1001} + 1))
        ((each >= ${PARTS_A_TASK:-1})) || each=$PARTS_A_TASK
        echo "pass ${pass%:*}: parts $list"
        submit "$@" "${after[@]}" --array="$(tasks "$each" "$list")" "$0" part "${pass%:*}" "$last" "$each"
    done
    echo "finish"
    submit "$@" "${after[@]}" "$0" finish
}

case ${1-} in
    part) part "$2" "$3" "$4" ;;
    finish) transcode --finish || { status=$?; echo "once nothing of the job is queued any more, submit what is missing: bash FILE"; exit "$status"; } ;;
    *) submit_all "$@" ;;
esac
