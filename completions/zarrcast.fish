# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_zarrcast_global_optspecs
    string join \n h/help V/version
end

function __fish_zarrcast_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_zarrcast_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_zarrcast_using_subcommand
    set -l cmd (__fish_zarrcast_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c zarrcast -n "__fish_zarrcast_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "inspect" -d 'Show what is in a store: metadata, codec pipeline, storage, values'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "validate" -d 'Check stores: metadata, keys, shard indexes, every chunk'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "transcode" -d 'Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "apply-codec" -d 'Run a codec chain, either way, over raw or .npy data'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "completions" -d 'Print the completions for a shell'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "man" -d 'Write the manual pages into a directory'
complete -c zarrcast -n "__fish_zarrcast_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l node -d 'The path of a node inside the store' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l storage -d 'Count what is stored: chunks, shards, bytes, and keys that belong to no chunk' -r -f -a "auto\t'On stores that list quickly: local ones'
always\t'On every store'
never\t'The metadata alone'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l depth -d 'Of a group, show nodes at most this far below it' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l histogram -d 'Count the values in bins of equal width; from the least to the greatest, unless a range is given' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l suggest -d 'Suggest scale_offset and cast_value for integers of this type, with the step and the greatest error' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l chunk -d 'Decode one object of the stored grid, codec by codec, with sizes, times and checksums' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l preview -d 'Draw a slice: of the last two dimensions, at index 0 of the others, or where AXIS=INDEX says' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l missing -d 'Values that count as missing, which no figure is over; `auto`: those that are declared' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l preview-png -d 'Draw the slice of --preview into a PNG file of at most 1024 x 1024 pixels' -r -F
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l threads -d 'Worker threads' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l max-memory -d 'Bytes of chunk data in flight, such as 512MiB or 2GB' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l progress -d 'When to show progress, on stderr' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l storage-option -d 'A setting of the store, by the name that the cloud\'s own tools have for it (repeatable)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l requests -d 'The most requests in flight [default: 64]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l missing-status -d 'Take chunks that the store refuses for absent' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l stats -d 'Read all values: least, greatest, mean, standard deviation, and how many are NaN, infinite, missing, the fill value'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l inner-chunk -d 'Let --chunk count inner chunks of shards'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l cf -d 'Apply the attributes scale_factor, add_offset and _Unsigned first, as CF readers do'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l json -d 'Print the result as one JSON document'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -s q -l quiet -d 'Print no warnings and no progress'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -s v -l verbose -d 'Say on stderr what was done, and how long it took'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l anonymous -d 'Sign no requests: for public data'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -l allow-file-references -d 'Let a reference file point at local files outside its folder'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand inspect" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l node -d 'The path of a node inside each store, OTHER included' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l level -d 'How deep to look [default: keys; of a store that does not list, such as a web server: metadata]' -r -f -a "metadata\t'The documents'
keys\t'And the keys: unknown, out of the grid, truncated, absent'
index\t'And the shard indexes'
data\t'And every chunk, decoded whole, its checksums verified'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l deny -d 'Take a code, or all warnings, as errors (repeatable)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l allow -d 'Leave the findings of a code out (repeatable)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l max-findings -d 'Show the first N findings; 0 shows all' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l format -d 'In what form to report' -r -f -a "text\t'For people'
json\t'One document, the same as --json'
github\t'Workflow commands of GitHub Actions: annotations'
junit\t'JUnit XML: a test suite for each store, a test case for each node'
sarif\t'SARIF 2.1.0'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l against -d 'Compare the values with those of OTHER, whatever its chunks, codecs and data types' -r -F
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l rtol -d 'The tolerance relative to OTHER\'s value [default: 0]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l atol -d 'The absolute tolerance [default: 0]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l expect -d 'What must hold: a document of --write-expect or of `inspect --json`, or members of it' -r -F
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l write-expect -d 'Write what --expect takes, for STORE as it is' -r -F
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l explain -d 'Show what a code means, why it matters and what to do' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l threads -d 'Worker threads' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l max-memory -d 'Bytes of chunk data in flight, such as 512MiB or 2GB' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l progress -d 'When to show progress, on stderr' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l storage-option -d 'A setting of the store, by the name that the cloud\'s own tools have for it (repeatable)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l requests -d 'The most requests in flight [default: 64]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l missing-status -d 'Take chunks that the store refuses for absent' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l cf -d 'Compare the values as CF readers see both sides'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l list-rules -d 'List every code with its severity'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l json -d 'Print the result as one JSON document'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -s q -l quiet -d 'Print no warnings and no progress'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -s v -l verbose -d 'Say on stderr what was done, and how long it took'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l anonymous -d 'Sign no requests: for public data'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -l allow-file-references -d 'Let a reference file point at local files outside its folder'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand validate" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l node -d 'The path of the node of SOURCE to read' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l codecs -d 'The whole codec chain: JSON, @FILE, or the words of --compress (`bytes` is put in front of them)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l compress -d 'The whole list of bytes->bytes codecs of the innermost chain' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s c -l chunk-shape -d 'The chunk shape; of a sharded array that of the inner chunks' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s s -l shard-shape -d 'The shard shape: chunks are put into shards, or into other ones; `none` takes them out' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s d -l data-type -d 'The data type; values are converted' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s f -l fill-value -d 'The fill value, as JSON; values are kept' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l zarr-format -d 'The version of the Zarr format; chunks are copied where they can stay' -r -f -a "2\t'`.zarray` and `.zattrs`'
3\t'`zarr.json`'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l separator -d 'What stands between the indices in chunk keys' -r -f -a ".\t'All chunks in one folder'
/\t'A folder for each index but the last'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l attributes -d 'All attributes, as JSON or @FILE' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l attributes-append -d 'Attributes that are added or replaced, as JSON or @FILE' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l dimension-names -d 'The names of the dimensions' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l quantize -d 'Store floats as integers of this type, by scale_offset and cast_value' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l max-error -d 'The greatest error that is allowed; quantises in the widest step that keeps it' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l step -d 'The step between codes; quantises to multiples of it' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l as -d 'How the codes are written' -r -f -a "codecs\t'The float array, with scale_offset and cast_value in its codec chain'
cf\t'An integer array with the CF attributes scale_factor and add_offset'
plain\t'An integer array, attributes as they are'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l range -d 'The values of the first and the last code; default: the least and the greatest finite value' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l scale -d 'The codec\'s own scale, in (x - offset) * scale' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l offset -d 'The codec\'s own offset' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l missing -d 'Values that count as NaN; `auto`: the attributes _FillValue and missing_value' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l nan-value -d 'What NaN becomes: the code that stands for it (with --quantize), or a value (with --data-type)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l rounding -d 'How a value between two representable ones is rounded; default: nearest-even' -r -f -a "nearest-even\t'To the nearest, ties to even'
nearest-away\t'To the nearest, ties away from zero'
towards-zero\t'Towards zero'
towards-positive\t'Towards positive infinity'
towards-negative\t'Towards negative infinity'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l out-of-range -d 'What becomes of a value out of range; default: an error' -r -f -a "clamp\t'The nearest bound'
wrap\t'Modulo 2^N; integer targets only'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l include -d 'Change only the arrays whose path matches; the others are copied' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l exclude -d 'Copy the arrays whose path matches' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l rule -d 'Options for the arrays whose path matches; of several rules the later ones win' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l scratch -d 'The local folder for intermediate data of a rechunk in two passes' -r -f -a "(__fish_complete_directories)"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l partitions -d 'In how many parts the job is cut; fewer where there are fewer stored objects' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l partition -d 'Do a part of the planned job: its number, from 0, or `auto` for that of a scheduler\'s array job' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l pass -d 'The pass of which a part is done; the first that is not complete' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l first-index -d 'What the scheduler counts parts from [default: 1 for SGE and LSF, else 0]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l print-script -d 'Print a script that does all of the planned job: its parts, the finish, and again what is missing' -r -f -a "slurm\t''
kubernetes\t''
dask\t''
snakemake\t''"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l threads -d 'Worker threads' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l max-memory -d 'Bytes of chunk data in flight, such as 512MiB or 2GB' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l progress -d 'When to show progress, on stderr' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l storage-option -d 'A setting of the store, by the name that the cloud\'s own tools have for it (repeatable)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l requests -d 'The most requests in flight [default: 64]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l missing-status -d 'Take chunks that the store refuses for absent' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l unpack -d 'Plain floats: drop scale_offset and cast_value, or apply the CF attributes'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l write-empty-chunks -d 'Write chunks that hold only the fill value'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l no-workarounds -d 'Leave out what is only there for readers that do not open what is valid'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l allow-lossy-cast -d 'Write a cast from integers to floats that can lose bits'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l no-fill-check -d 'Accept a fill value that the codec chain does not bring back'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l no-consolidate -d 'Leave consolidated metadata out'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l verify -d 'Read DEST back and compare'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l dry-run -d 'Print the plan, reading no chunk'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l overwrite -d 'Replace DEST: an array, a group, an unfinished run or an empty folder'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l resume -d 'Go on with an unfinished run of the same command; with no DEST, start'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l init -d 'Plan the job once, and seal the plan in DEST; needs --partitions'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l status -d 'Say which parts of the planned job are done, by pass; nothing is changed'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l finish -d 'Prove that all parts are there, and publish DEST'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l json -d 'Print the result as one JSON document'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s q -l quiet -d 'Print no warnings and no progress'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s v -l verbose -d 'Say on stderr what was done, and how long it took'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l anonymous -d 'Sign no requests: for public data'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -l allow-file-references -d 'Let a reference file point at local files outside its folder'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand transcode" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l codecs -d 'The codec chain: JSON, @FILE, or words as in `transcode --compress`, such as zstd:5,crc32c' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -s d -l data-type -d 'The data type of the decoded array' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l shape -d 'The shape of the decoded array; `scalar` for 0-D' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -s f -l fill-value -d 'The fill value of the decoded array, as JSON; without it none is checked or transformed' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l like -d 'Take the chain, the data type and the chunk shape of this array' -r -F
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l node -d 'The path of the node of --like' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l chunk -d 'Decode this stored chunk of the array instead of INPUT' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l repeat -d 'Run N times and report the median throughput of each codec' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l threads -d 'Worker threads' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l max-memory -d 'Bytes of chunk data in flight, such as 512MiB or 2GB' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l color -d 'When to colour the output' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l progress -d 'When to show progress, on stderr' -r -f -a "auto\t'On a terminal'
always\t'In any case'
never\t'Not at all'"
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l storage-option -d 'A setting of the store, by the name that the cloud\'s own tools have for it (repeatable)' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l requests -d 'The most requests in flight [default: 64]' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l missing-status -d 'Take chunks that the store refuses for absent' -r
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l decode -d 'Run the chain backwards'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l no-fill-check -d 'Accept a fill value that the chain does not bring back'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l stages -d 'Print a row for each codec on stderr: type, shape, fill value, bytes, time'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l round-trip -d 'Encode, decode and compare'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l json -d 'Print the result as one JSON document'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -s q -l quiet -d 'Print no warnings and no progress'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -s v -l verbose -d 'Say on stderr what was done, and how long it took'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l anonymous -d 'Sign no requests: for public data'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -l allow-file-references -d 'Let a reference file point at local files outside its folder'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand apply-codec" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand completions" -s h -l help -d 'Print help'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand completions" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand man" -s h -l help -d 'Print help'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand man" -s V -l version -d 'Print version'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "inspect" -d 'Show what is in a store: metadata, codec pipeline, storage, values'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "validate" -d 'Check stores: metadata, keys, shard indexes, every chunk'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "transcode" -d 'Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "apply-codec" -d 'Run a codec chain, either way, over raw or .npy data'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "completions" -d 'Print the completions for a shell'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "man" -d 'Write the manual pages into a directory'
complete -c zarrcast -n "__fish_zarrcast_using_subcommand help; and not __fish_seen_subcommand_from inspect validate transcode apply-codec completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
