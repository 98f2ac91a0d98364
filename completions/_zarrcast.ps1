
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
            [CompletionResult]::new('apply-codec', 'apply-codec', [CompletionResultType]::ParameterValue, 'Encode or decode raw or .npy data with a codec chain')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completions for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write the manual pages into a directory')
            [CompletionResult]::new('transcode', 'transcode', [CompletionResultType]::ParameterValue, 'Write a copy of an array or group: smaller, in other chunks or another format')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'zarrcast;inspect' {
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'Path of a node inside each store')
            [CompletionResult]::new('--storage', '--storage', [CompletionResultType]::ParameterName, 'Count stored chunks, bytes and unknown keys: auto (local stores), always or never [default: auto]')
            [CompletionResult]::new('--depth', '--depth', [CompletionResultType]::ParameterName, 'Show nodes at most N levels below a group')
            [CompletionResult]::new('--histogram', '--histogram', [CompletionResultType]::ParameterName, 'Count the values in bins of equal width')
            [CompletionResult]::new('--suggest', '--suggest', [CompletionResultType]::ParameterName, 'Try options that make floats smaller, and print the commands')
            [CompletionResult]::new('--sample', '--sample', [CompletionResultType]::ParameterName, 'Approximate number of chunks that --suggest tries')
            [CompletionResult]::new('--chunk', '--chunk', [CompletionResultType]::ParameterName, 'Decode one chunk, codec by codec')
            [CompletionResult]::new('--preview', '--preview', [CompletionResultType]::ParameterName, 'Draw a slice of the last two dimensions')
            [CompletionResult]::new('--missing', '--missing', [CompletionResultType]::ParameterName, 'Values that count as missing, `none`, or `auto` (as declared) [default: auto]')
            [CompletionResult]::new('--preview-png', '--preview-png', [CompletionResultType]::ParameterName, 'Write the slice as a PNG file of at most 1024 x 1024 pixels')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write an HTML page with pictures')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads [default: all cores]')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Maximum memory for chunks, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: auto, always or never (`auto` honours NO_COLOR)')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Show progress on stderr: auto, always or never')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'Option of the store, with the cloud''s own name (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'Maximum number of concurrent requests [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Treat refused chunks (403) as missing')
            [CompletionResult]::new('--stats', '--stats', [CompletionResultType]::ParameterName, 'Minimum, maximum, mean, deviation, NaN count')
            [CompletionResult]::new('--information', '--information', [CompletionResultType]::ParameterName, 'Show which bits of the values carry information')
            [CompletionResult]::new('--inner-chunk', '--inner-chunk', [CompletionResultType]::ParameterName, 'Let --chunk name an inner chunk, not a shard')
            [CompletionResult]::new('--cf', '--cf', [CompletionResultType]::ParameterName, 'Apply scale_factor, add_offset and _Unsigned first')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Send no credentials (for public data)')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;validate' {
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'Path of a node inside each STORE and inside OTHER')
            [CompletionResult]::new('--level', '--level', [CompletionResultType]::ParameterName, 'What to check: metadata, keys, index or data [default: keys]')
            [CompletionResult]::new('--deny', '--deny', [CompletionResultType]::ParameterName, 'Treat findings with this code, or all warnings, as errors')
            [CompletionResult]::new('--allow', '--allow', [CompletionResultType]::ParameterName, 'Hide findings with this code')
            [CompletionResult]::new('--max-findings', '--max-findings', [CompletionResultType]::ParameterName, 'Show the first N findings; 0 shows all')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Output format: text, json, github, junit or sarif')
            [CompletionResult]::new('--partition', '--partition', [CompletionResultType]::ParameterName, 'Check share I of N of the chunks (I from 0, or auto/N)')
            [CompletionResult]::new('--first-index', '--first-index', [CompletionResultType]::ParameterName, 'First number of the array job [default: 1 for SGE and LSF, else 0]')
            [CompletionResult]::new('--against', '--against', [CompletionResultType]::ParameterName, 'Compare the values with those of OTHER')
            [CompletionResult]::new('--rtol', '--rtol', [CompletionResultType]::ParameterName, 'Tolerance relative to OTHER''s value [default: 0]')
            [CompletionResult]::new('--atol', '--atol', [CompletionResultType]::ParameterName, 'Absolute tolerance [default: 0]')
            [CompletionResult]::new('--expect', '--expect', [CompletionResultType]::ParameterName, 'Check the metadata against FILE (JSON)')
            [CompletionResult]::new('--write-expect', '--write-expect', [CompletionResultType]::ParameterName, 'Write a FILE for --expect from STORE')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Show what a code means and what to do')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write an HTML page with pictures')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads [default: all cores]')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Maximum memory for chunks, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: auto, always or never (`auto` honours NO_COLOR)')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Show progress on stderr: auto, always or never')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'Option of the store, with the cloud''s own name (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'Maximum number of concurrent requests [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Treat refused chunks (403) as missing')
            [CompletionResult]::new('--cf', '--cf', [CompletionResultType]::ParameterName, 'Compare both sides as CF readers see them')
            [CompletionResult]::new('--list-rules', '--list-rules', [CompletionResultType]::ParameterName, 'List every code with its severity')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Send no credentials (for public data)')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;apply-codec' {
            [CompletionResult]::new('--codecs', '--codecs', [CompletionResultType]::ParameterName, 'Codec chain: JSON, @FILE, or words: zstd:5,crc32c')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Data type of the decoded array')
            [CompletionResult]::new('--data-type', '--data-type', [CompletionResultType]::ParameterName, 'Data type of the decoded array')
            [CompletionResult]::new('--shape', '--shape', [CompletionResultType]::ParameterName, 'Shape of the decoded array; `scalar` for 0-D')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Fill value of the decoded array, as JSON')
            [CompletionResult]::new('--fill-value', '--fill-value', [CompletionResultType]::ParameterName, 'Fill value of the decoded array, as JSON')
            [CompletionResult]::new('--like', '--like', [CompletionResultType]::ParameterName, 'Use the codec chain, data type and chunk shape of this array')
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'Path of the node inside the store of --like')
            [CompletionResult]::new('--chunk', '--chunk', [CompletionResultType]::ParameterName, 'Decode this stored chunk instead of INPUT')
            [CompletionResult]::new('--repeat', '--repeat', [CompletionResultType]::ParameterName, 'Run N times and report the median speed of each codec')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads [default: all cores]')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Maximum memory for chunks, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: auto, always or never (`auto` honours NO_COLOR)')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Show progress on stderr: auto, always or never')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'Option of the store, with the cloud''s own name (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'Maximum number of concurrent requests [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Treat refused chunks (403) as missing')
            [CompletionResult]::new('--decode', '--decode', [CompletionResultType]::ParameterName, 'Decode INPUT: run the chain backwards')
            [CompletionResult]::new('--no-fill-check', '--no-fill-check', [CompletionResultType]::ParameterName, 'Do not stop if the chain changes the fill value')
            [CompletionResult]::new('--stages', '--stages', [CompletionResultType]::ParameterName, 'Print a row for each codec on stderr')
            [CompletionResult]::new('--round-trip', '--round-trip', [CompletionResultType]::ParameterName, 'Encode, decode and compare')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Send no credentials (for public data)')
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
        'zarrcast;transcode' {
            [CompletionResult]::new('--quantize', '--quantize', [CompletionResultType]::ParameterName, 'Fit the range of floats to this integer type')
            [CompletionResult]::new('--max-error', '--max-error', [CompletionResultType]::ParameterName, 'Store floats as integers, each within E (data units)')
            [CompletionResult]::new('--step', '--step', [CompletionResultType]::ParameterName, 'Store floats as integer multiples of S')
            [CompletionResult]::new('--keep-bits', '--keep-bits', [CompletionResultType]::ParameterName, 'Keep N bits of the significand of floats')
            [CompletionResult]::new('--as', '--as', [CompletionResultType]::ParameterName, 'How to write the integers: codecs, cf or plain')
            [CompletionResult]::new('--range', '--range', [CompletionResultType]::ParameterName, 'Smallest and largest value to store [default: minimum and maximum]')
            [CompletionResult]::new('--scale', '--scale', [CompletionResultType]::ParameterName, 'Scale of the codec, in (x - offset) * scale')
            [CompletionResult]::new('--offset', '--offset', [CompletionResultType]::ParameterName, 'Offset of the codec')
            [CompletionResult]::new('--missing', '--missing', [CompletionResultType]::ParameterName, 'Values that count as NaN; `auto`: _FillValue and missing_value')
            [CompletionResult]::new('--codecs', '--codecs', [CompletionResultType]::ParameterName, 'Replace the whole codec chain')
            [CompletionResult]::new('--compress', '--compress', [CompletionResultType]::ParameterName, 'Replace the compressor: zstd:5, none or auto')
            [CompletionResult]::new('--predict', '--predict', [CompletionResultType]::ParameterName, 'Store differences along dimensions: auto, none or time,lat')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Chunk shape: 64,256 or time=1,lat=0 or auto')
            [CompletionResult]::new('--chunk-shape', '--chunk-shape', [CompletionResultType]::ParameterName, 'Chunk shape: 64,256 or time=1,lat=0 or auto')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Shard shape (Zarr v3), auto, or none')
            [CompletionResult]::new('--shard-shape', '--shard-shape', [CompletionResultType]::ParameterName, 'Shard shape (Zarr v3), auto, or none')
            [CompletionResult]::new('--select', '--select', [CompletionResultType]::ParameterName, 'Copy only a part: time=0:100,lat=20:')
            [CompletionResult]::new('-d', '-d', [CompletionResultType]::ParameterName, 'Convert the values; floats to integers are rounded')
            [CompletionResult]::new('--data-type', '--data-type', [CompletionResultType]::ParameterName, 'Convert the values; floats to integers are rounded')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'New fill value, as JSON; the values of the array stay the same')
            [CompletionResult]::new('--fill-value', '--fill-value', [CompletionResultType]::ParameterName, 'New fill value, as JSON; the values of the array stay the same')
            [CompletionResult]::new('--zarr-format', '--zarr-format', [CompletionResultType]::ParameterName, 'Write this version of the Zarr format: 2 or 3')
            [CompletionResult]::new('--separator', '--separator', [CompletionResultType]::ParameterName, 'Separator of the indices in chunk keys: `.` or `/`')
            [CompletionResult]::new('--attributes', '--attributes', [CompletionResultType]::ParameterName, 'Replace all attributes of arrays by JSON or @FILE')
            [CompletionResult]::new('--attributes-append', '--attributes-append', [CompletionResultType]::ParameterName, 'Add to arrays the attributes in JSON or @FILE, or replace them')
            [CompletionResult]::new('--dimension-names', '--dimension-names', [CompletionResultType]::ParameterName, 'New names of the dimensions')
            [CompletionResult]::new('--nan-value', '--nan-value', [CompletionResultType]::ParameterName, 'Integer that stands for NaN')
            [CompletionResult]::new('--rounding', '--rounding', [CompletionResultType]::ParameterName, 'Rounding: nearest-even (default), nearest-away, towards-zero, towards-positive or towards-negative')
            [CompletionResult]::new('--out-of-range', '--out-of-range', [CompletionResultType]::ParameterName, '`clamp` values out of range, or `wrap` them modulo 2^N [default: fail]')
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'Write only the arrays whose path matches, with their coordinates')
            [CompletionResult]::new('--include', '--include', [CompletionResultType]::ParameterName, 'Change only the arrays whose path matches')
            [CompletionResult]::new('--exclude', '--exclude', [CompletionResultType]::ParameterName, 'Do not change the arrays whose path matches')
            [CompletionResult]::new('--rule', '--rule', [CompletionResultType]::ParameterName, 'Options for some arrays: ''GLOB: OPTIONS''')
            [CompletionResult]::new('--require', '--require', [CompletionResultType]::ParameterName, 'Write DEST only if quality measures are met')
            [CompletionResult]::new('--partitions', '--partitions', [CompletionResultType]::ParameterName, 'Number of parts of the job')
            [CompletionResult]::new('--partition', '--partition', [CompletionResultType]::ParameterName, 'Run one part: its number from 0, or `auto` in a scheduler''s array job')
            [CompletionResult]::new('--pass', '--pass', [CompletionResultType]::ParameterName, 'Pass of the part: range, staging or write [default: the first that is not complete]')
            [CompletionResult]::new('--first-index', '--first-index', [CompletionResultType]::ParameterName, 'First number of the array job [default: 1 for SGE and LSF, else 0]')
            [CompletionResult]::new('--print-script', '--print-script', [CompletionResultType]::ParameterName, 'Print a script for the whole job: slurm, kubernetes, dask or snakemake')
            [CompletionResult]::new('--node', '--node', [CompletionResultType]::ParameterName, 'Path of the node inside SOURCE')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads [default: all cores]')
            [CompletionResult]::new('--max-memory', '--max-memory', [CompletionResultType]::ParameterName, 'Maximum memory for chunks, such as 512MiB or 2GB')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colour the output: auto, always or never (`auto` honours NO_COLOR)')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'Show progress on stderr: auto, always or never')
            [CompletionResult]::new('--storage-option', '--storage-option', [CompletionResultType]::ParameterName, 'Option of the store, with the cloud''s own name (repeatable)')
            [CompletionResult]::new('--requests', '--requests', [CompletionResultType]::ParameterName, 'Maximum number of concurrent requests [default: 64]')
            [CompletionResult]::new('--missing-status', '--missing-status', [CompletionResultType]::ParameterName, 'Treat refused chunks (403) as missing')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Write an HTML page with pictures')
            [CompletionResult]::new('--no-workarounds', '--no-workarounds', [CompletionResultType]::ParameterName, 'Leave out the scalar_map entry that zarr-python 3.4.1 and 3.4.2 need')
            [CompletionResult]::new('--unpack', '--unpack', [CompletionResultType]::ParameterName, 'Undo quantising or CF packing: write floats again')
            [CompletionResult]::new('--write-empty-chunks', '--write-empty-chunks', [CompletionResultType]::ParameterName, 'Write chunks that hold only the fill value')
            [CompletionResult]::new('--allow-lossy-cast', '--allow-lossy-cast', [CompletionResultType]::ParameterName, 'Allow a cast from integers to floats that can lose bits')
            [CompletionResult]::new('--no-fill-check', '--no-fill-check', [CompletionResultType]::ParameterName, 'Do not stop if the codecs change the fill value')
            [CompletionResult]::new('--no-consolidate', '--no-consolidate', [CompletionResultType]::ParameterName, 'Write no consolidated metadata')
            [CompletionResult]::new('--verify', '--verify', [CompletionResultType]::ParameterName, 'Read DEST back and compare')
            [CompletionResult]::new('--quality', '--quality', [CompletionResultType]::ParameterName, 'Measure what quantising did to the values')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print the plan and write nothing')
            [CompletionResult]::new('--estimate', '--estimate', [CompletionResultType]::ParameterName, 'Estimate size and time from a sample (with --dry-run)')
            [CompletionResult]::new('--overwrite', '--overwrite', [CompletionResultType]::ParameterName, 'Replace DEST')
            [CompletionResult]::new('--resume', '--resume', [CompletionResultType]::ParameterName, 'Continue an unfinished run of the same command')
            [CompletionResult]::new('--init', '--init', [CompletionResultType]::ParameterName, 'Plan the job and write the plan into DEST (with --partitions)')
            [CompletionResult]::new('--status', '--status', [CompletionResultType]::ParameterName, 'Show which parts are done')
            [CompletionResult]::new('--finish', '--finish', [CompletionResultType]::ParameterName, 'Check that all parts are done, and publish DEST')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print details: each node and absent chunk, and times')
            [CompletionResult]::new('--anonymous', '--anonymous', [CompletionResultType]::ParameterName, 'Send no credentials (for public data)')
            [CompletionResult]::new('--allow-file-references', '--allow-file-references', [CompletionResultType]::ParameterName, 'Let a reference file point at local files outside its folder')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as JSON')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'zarrcast;help' {
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Show what is in a store: metadata, codec pipeline, storage, values')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check stores: metadata, keys, shard indexes, every chunk')
            [CompletionResult]::new('apply-codec', 'apply-codec', [CompletionResultType]::ParameterValue, 'Encode or decode raw or .npy data with a codec chain')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completions for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Write the manual pages into a directory')
            [CompletionResult]::new('transcode', 'transcode', [CompletionResultType]::ParameterValue, 'Write a copy of an array or group: smaller, in other chunks or another format')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'zarrcast;help;inspect' {
            break
        }
        'zarrcast;help;validate' {
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
        'zarrcast;help;transcode' {
            break
        }
        'zarrcast;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
