
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'zarrcast' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'zarrcast'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'zarrcast' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show what is in a store: metadata, codec pipeline, storage, values')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check stores: metadata, keys, shard indexes, every chunk')
            [CompletionResult]::new('transcode', 'transcode', [CompletionResultType]::ParameterValue, 'Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised')
            [CompletionResult]::new('apply-codec', 'apply-codec', [CompletionResultType]::ParameterValue, 'Run a codec chain, either way, over raw or .npy data')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completions for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write the manual pages into a directory')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'zarrcast;inspect' {
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'The path of a node inside each store')
            [CompletionResult]::new('--storage', '--storage', [CompletionResultType]::ParameterName, 'Count what is stored: chunks, shards, bytes, and keys that belong to no chunk')
            [CompletionResult]::new('--depth', '--depth', [CompletionResultType]::ParameterName, 'Of a group, show nodes at most this far below it')
            [CompletionResult]::new('--histogram', '--histogram', [CompletionResultType]::ParameterName, 'Count the values in bins of equal width; from the least to the greatest, unless a range is given')
            [CompletionResult]::new('--suggest', '--suggest', [CompletionResultType]::ParameterName, 'Try ways to store floats smaller; or suggest scale_offset and cast_value for integers of this type')
            [CompletionResult]::new('--sample', '--sample', [CompletionResultType]::ParameterName, 'Let --suggest try the ways on about this many chunks')
            [CompletionResult]::new('--chunk', '--chunk', [CompletionResultType]::ParameterName, 'Decode one object of the stored grid, codec by codec, with sizes, times and checksums')
            [CompletionResult]::new('--preview', '--preview', [CompletionResultType]::ParameterName, 'Draw a slice: of the last two dimensions, at index 0 of the others, or where AXIS=INDEX says')
            [CompletionResult]::new('--missing', '--missing', [CompletionResultType]::ParameterName, 'Values that count as missing, which no figure is over; `auto`: those that are declared')
            [CompletionResult]::new('--preview-png', '--preview-png', [CompletionResultType]::ParameterName, 'Draw the slice of --preview into a PNG file of at most 1024 x 1024 pixels')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write the result as a page with pictures, too: one HTML file that needs nothing from elsewhere')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Bytes of chunk data in flight, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress, on stderr')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'The most requests in flight [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Take chunks that the store refuses for absent')
            [CompletionResult]::new('--stats', '--stats', [CompletionResultType]::ParameterName, 'Read all values: least, greatest, mean, standard deviation, and how many are NaN, infinite, missing, the fill value')
            [CompletionResult]::new('--information', '--information', [CompletionResultType]::ParameterName, 'Find the bitwise real information along each dimension, and the bits that keep 99 and 99.9 % of it')
            [CompletionResult]::new('--inner-chunk', '--inner-chunk', [CompletionResultType]::ParameterName, 'Let --chunk count inner chunks of shards')
            [CompletionResult]::new('--cf', '--cf', [CompletionResultType]::ParameterName, 'Apply the attributes scale_factor, add_offset and _Unsigned first, as CF readers do')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Sign no requests: for public data')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;validate' {
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'The path of a node inside each store, OTHER included')
            [CompletionResult]::new('--level', '--level', [CompletionResultType]::ParameterName, 'How deep to look [default: keys; of a store that does not list, such as a web server: metadata]')
            [CompletionResult]::new('--deny', '--deny', [CompletionResultType]::ParameterName, 'Take a code, or all warnings, as errors (repeatable)')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Leave the findings of a code out (repeatable)')
            [CompletionResult]::new('--max-findings', '--max-findings', [CompletionResultType]::ParameterName, 'Show the first N findings; 0 shows all')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'In what form to report')
            [CompletionResult]::new('--partition', '--partition', [CompletionResultType]::ParameterName, 'Of the stored chunks and shards, look at the I-th of N shares only; I from 0, or `auto` for a scheduler''s number')
            [CompletionResult]::new('--first-index', '--first-index', [CompletionResultType]::ParameterName, 'What the scheduler counts shares from [default: 1 for SGE and LSF, else 0]')
            [CompletionResult]::new('--against', '--against', [CompletionResultType]::ParameterName, 'Compare the values with those of OTHER, whatever its chunks, codecs and data types')
            [CompletionResult]::new('--rtol', '--rtol', [CompletionResultType]::ParameterName, 'The tolerance relative to OTHER''s value [default: 0]')
            [CompletionResult]::new('--atol', '--atol', [CompletionResultType]::ParameterName, 'The absolute tolerance [default: 0]')
            [CompletionResult]::new('--expect', '--expect', [CompletionResultType]::ParameterName, 'What must hold: a document of --write-expect or of `inspect --json`, or members of it')
            [CompletionResult]::new('--write-expect', '--write-expect', [CompletionResultType]::ParameterName, 'Write what --expect takes, for STORE as it is')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Show what a code means, why it matters and what to do')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write the result as a page with pictures, too: one HTML file that needs nothing from elsewhere')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Bytes of chunk data in flight, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress, on stderr')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'The most requests in flight [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Take chunks that the store refuses for absent')
            [CompletionResult]::new('--cf', '--cf', [CompletionResultType]::ParameterName, 'Compare the values as CF readers see both sides')
            [CompletionResult]::new('--list-rules', '--list-rules', [CompletionResultType]::ParameterName, 'List every code with its severity')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Sign no requests: for public data')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;transcode' {
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'The path of the node of SOURCE to read')
            [CompletionResult]::new('--codecs', '--codecs', [CompletionResultType]::ParameterName, 'The whole codec chain: JSON, @FILE, or the words of --compress (`bytes` is put in front of them)')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'The whole list of bytes->bytes codecs of the innermost chain')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'The chunk shape; of a sharded array that of the inner chunks')
            [CompletionResult]::new('--chunk-shape', '--chunk-shape', [CompletionResultType]::ParameterName, 'The chunk shape; of a sharded array that of the inner chunks')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'The shard shape: chunks are put into shards, or into other ones; `none` takes them out')
            [CompletionResult]::new('--shard-shape', '--shard-shape', [CompletionResultType]::ParameterName, 'The shard shape: chunks are put into shards, or into other ones; `none` takes them out')
            [CompletionResult]::new('--select', '--select', [CompletionResultType]::ParameterName, 'A part of the array, by dimensions: `time=0:100,lat=20:`; of a hierarchy, of every array that has them')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'The data type; values are converted')
            [CompletionResult]::new('--data-type', '--data-type', [CompletionResultType]::ParameterName, 'The data type; values are converted')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'The fill value, as JSON; values are kept')
            [CompletionResult]::new('--fill-value', '--fill-value', [CompletionResultType]::ParameterName, 'The fill value, as JSON; values are kept')
            [CompletionResult]::new('--zarr-format', '--zarr-format', [CompletionResultType]::ParameterName, 'The version of the Zarr format; chunks are copied where they can stay')
            [CompletionResult]::new('--separator', '--separator', [CompletionResultType]::ParameterName, 'What stands between the indices in chunk keys')
            [CompletionResult]::new('--attributes', '--attributes', [CompletionResultType]::ParameterName, 'All attributes, as JSON or @FILE')
            [CompletionResult]::new('--attributes-append', '--attributes-append', [CompletionResultType]::ParameterName, 'Attributes that are added or replaced, as JSON or @FILE')
            [CompletionResult]::new('--dimension-names', '--dimension-names', [CompletionResultType]::ParameterName, 'The names of the dimensions')
            [CompletionResult]::new('--quantize', '--quantize', [CompletionResultType]::ParameterName, 'Store floats as integers of this type, by scale_offset and cast_value')
            [CompletionResult]::new('--max-error', '--max-error', [CompletionResultType]::ParameterName, 'The greatest error that is allowed; quantises in the widest step that keeps it')
            [CompletionResult]::new('--step', '--step', [CompletionResultType]::ParameterName, 'The step between codes; quantises to multiples of it')
            [CompletionResult]::new('--keep-bits', '--keep-bits', [CompletionResultType]::ParameterName, 'Keep N bits of the significand of floats, or as many as keep P (0.99) of their information; they stay floats')
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'How the codes are written')
            [CompletionResult]::new('--range', '--range', [CompletionResultType]::ParameterName, 'The values of the first and the last code; default: the least and the greatest finite value')
            [CompletionResult]::new('--scale', '--scale', [CompletionResultType]::ParameterName, 'The codec''s own scale, in (x - offset) * scale')
            [CompletionResult]::new('--offset', '--offset', [CompletionResultType]::ParameterName, 'The codec''s own offset')
            [CompletionResult]::new('--missing', '--missing', [CompletionResultType]::ParameterName, 'Values that count as NaN; `auto`: the attributes _FillValue and missing_value')
            [CompletionResult]::new('--nan-value', '--nan-value', [CompletionResultType]::ParameterName, 'What NaN becomes: the code that stands for it (with --quantize), or a value (with --data-type)')
            [CompletionResult]::new('--rounding', '--rounding', [CompletionResultType]::ParameterName, 'How a value between two representable ones is rounded; default: nearest-even')
            [CompletionResult]::new('--out-of-range', '--out-of-range', [CompletionResultType]::ParameterName, 'What becomes of a value out of range; default: an error')
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'Write only the arrays whose path matches')
            [CompletionResult]::new('--include', '--include', [CompletionResultType]::ParameterName, 'Change only the arrays whose path matches; the others are copied')
            [CompletionResult]::new('--exclude', '--exclude', [CompletionResultType]::ParameterName, 'Copy the arrays whose path matches')
            [CompletionResult]::new('--rule', '--rule', [CompletionResultType]::ParameterName, 'Options for the arrays whose path matches; of several rules the later ones win')
            [CompletionResult]::new('--require', '--require', [CompletionResultType]::ParameterName, 'What each quantised array has to keep, else DEST is not published and the exit status is 1')
            [CompletionResult]::new('--partitions', '--partitions', [CompletionResultType]::ParameterName, 'In how many parts the job is cut; fewer where there are fewer stored objects')
            [CompletionResult]::new('--partition', '--partition', [CompletionResultType]::ParameterName, 'Do a part of the planned job: its number, from 0, or `auto` for that of a scheduler''s array job')
            [CompletionResult]::new('--pass', '--pass', [CompletionResultType]::ParameterName, 'The pass of which a part is done; the first that is not complete')
            [CompletionResult]::new('--first-index', '--first-index', [CompletionResultType]::ParameterName, 'What the scheduler counts parts from [default: 1 for SGE and LSF, else 0]')
            [CompletionResult]::new('--print-script', '--print-script', [CompletionResultType]::ParameterName, 'Print a script that does all of the planned job: its parts, the finish, and again what is missing')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write the result as a page with pictures, too: one HTML file that needs nothing from elsewhere')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Bytes of chunk data in flight, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress, on stderr')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'The most requests in flight [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Take chunks that the store refuses for absent')
            [CompletionResult]::new('--unpack', '--unpack', [CompletionResultType]::ParameterName, 'Plain floats: drop scale_offset and cast_value, or apply the CF attributes')
            [CompletionResult]::new('--write-empty-chunks', '--write-empty-chunks', [CompletionResultType]::ParameterName, 'Write chunks that hold only the fill value')
            [CompletionResult]::new('--no-workarounds', '--no-workarounds', [CompletionResultType]::ParameterName, 'Leave out what is only there for readers that do not open what is valid')
            [CompletionResult]::new('--allow-lossy-cast', '--allow-lossy-cast', [CompletionResultType]::ParameterName, 'Write a cast from integers to floats that can lose bits')
            [CompletionResult]::new('--no-fill-check', '--no-fill-check', [CompletionResultType]::ParameterName, 'Accept a fill value that the codec chain does not bring back')
            [CompletionResult]::new('--no-consolidate', '--no-consolidate', [CompletionResultType]::ParameterName, 'Leave consolidated metadata out')
            [CompletionResult]::new('--verify', '--verify', [CompletionResultType]::ParameterName, 'Read DEST back and compare')
            [CompletionResult]::new('--quality', '--quality', [CompletionResultType]::ParameterName, 'Measure what quantising did to the values, by what is read back of DEST')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print the plan, reading no chunk but for an estimate')
            [CompletionResult]::new('--estimate', '--estimate', [CompletionResultType]::ParameterName, 'Let the plan say how large DEST will be and how long it takes, from a sample of the chunks that is encoded')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace DEST: an array, a group, an unfinished run or an empty folder')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Go on with an unfinished run of the same command; with no DEST, start')
            [CompletionResult]::new('--init', '--init', [CompletionResultType]::ParameterName, 'Plan the job once, and seal the plan in DEST; needs --partitions')
            [CompletionResult]::new('--status', '--status', [CompletionResultType]::ParameterName, 'Say which parts of the planned job are done, by pass; nothing is changed')
            [CompletionResult]::new('--finish', '--finish', [CompletionResultType]::ParameterName, 'Prove that all parts are there, and publish DEST')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Sign no requests: for public data')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;apply-codec' {
            [CompletionResult]::new('--codecs', '--codecs', [CompletionResultType]::ParameterName, 'The codec chain: JSON, @FILE, or words as in `transcode --compress`, such as zstd:5,crc32c')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'The data type of the decoded array')
            [CompletionResult]::new('--data-type', '--data-type', [CompletionResultType]::ParameterName, 'The data type of the decoded array')
            [CompletionResult]::new('--shape', '--shape', [CompletionResultType]::ParameterName, 'The shape of the decoded array; `scalar` for 0-D')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'The fill value of the decoded array, as JSON; without it none is checked or transformed')
            [CompletionResult]::new('--fill-value', '--fill-value', [CompletionResultType]::ParameterName, 'The fill value of the decoded array, as JSON; without it none is checked or transformed')
            [CompletionResult]::new('--like', '--like', [CompletionResultType]::ParameterName, 'Take the chain, the data type and the chunk shape of this array')
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'The path of the node of --like')
            [CompletionResult]::new('--chunk', '--chunk', [CompletionResultType]::ParameterName, 'Decode this stored chunk of the array instead of INPUT')
            [CompletionResult]::new('--repeat', '--repeat', [CompletionResultType]::ParameterName, 'Run N times and report the median throughput of each codec')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Bytes of chunk data in flight, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to colour the output')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress, on stderr')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'The most requests in flight [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Take chunks that the store refuses for absent')
            [CompletionResult]::new('--decode', '--decode', [CompletionResultType]::ParameterName, 'Run the chain backwards')
            [CompletionResult]::new('--no-fill-check', '--no-fill-check', [CompletionResultType]::ParameterName, 'Accept a fill value that the chain does not bring back')
            [CompletionResult]::new('--stages', '--stages', [CompletionResultType]::ParameterName, 'Print a row for each codec on stderr: type, shape, fill value, bytes, time')
            [CompletionResult]::new('--round-trip', '--round-trip', [CompletionResultType]::ParameterName, 'Encode, decode and compare')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say on stderr what was done, and how long it took')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Sign no requests: for public data')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;completions' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;man' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;help' {
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show what is in a store: metadata, codec pipeline, storage, values')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check stores: metadata, keys, shard indexes, every chunk')
            [CompletionResult]::new('transcode', 'transcode', [CompletionResultType]::ParameterValue, 'Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised')
            [CompletionResult]::new('apply-codec', 'apply-codec', [CompletionResultType]::ParameterValue, 'Run a codec chain, either way, over raw or .npy data')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completions for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write the manual pages into a directory')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'zarrcast;help;inspect' {
            break
        }
        'zarrcast;help;validate' {
            break
        }
        'zarrcast;help;transcode' {
            break
        }
        'zarrcast;help;apply-codec' {
            break
        }
        'zarrcast;help;completions' {
            break
        }
        'zarrcast;help;man' {
            break
        }
        'zarrcast;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
