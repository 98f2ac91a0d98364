
use builtin;
use str;

set edit:completion:arg-completer[zarrcast] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'zarrcast'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'zarrcast'= {
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand inspect 'Show what is in a store: metadata, codec pipeline, storage, values'
            cand validate 'Check stores: metadata, keys, shard indexes, every chunk'
            cand apply-codec 'Encode or decode raw or .npy data with a codec chain'
            cand completions 'Print the completions for a shell'
            cand man 'Write the manual pages into a directory'
            cand transcode 'Write a copy of an array or group: smaller, in other chunks or another format'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'zarrcast;inspect'= {
            cand --node 'Path of a node inside each store'
            cand --storage 'Count stored chunks, bytes and unknown keys: auto (local stores), always or never [default: auto]'
            cand --depth 'Show nodes at most N levels below a group'
            cand --histogram 'Count the values in bins of equal width'
            cand --suggest 'Try options that make floats smaller, and print the commands'
            cand --sample 'Approximate number of chunks that --suggest tries'
            cand --chunk 'Decode one chunk, codec by codec'
            cand --preview 'Draw a slice of the last two dimensions'
            cand --missing 'Values that count as missing, `none`, or `auto` (as declared) [default: auto]'
            cand --preview-png 'Write the slice as a PNG file of at most 1024 x 1024 pixels'
            cand --report 'Write an HTML page with pictures'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Maximum memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Option of the store, with the cloud''s own name (repeatable)'
            cand --requests 'Maximum number of concurrent requests [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --stats 'Minimum, maximum, mean, deviation, NaN count'
            cand --information 'Show which bits of the values carry information'
            cand --inner-chunk 'Let --chunk name an inner chunk, not a shard'
            cand --cf 'Apply scale_factor, add_offset and _Unsigned first'
            cand --json 'Print the result as JSON'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details: each node and absent chunk, and times'
            cand --verbose 'Print details: each node and absent chunk, and times'
            cand --anonymous 'Send no credentials (for public data)'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;validate'= {
            cand --node 'Path of a node inside each STORE and inside OTHER'
            cand --level 'What to check: metadata, keys, index or data [default: keys]'
            cand --deny 'Treat findings with this code, or all warnings, as errors'
            cand --allow 'Hide findings with this code'
            cand --max-findings 'Show the first N findings; 0 shows all'
            cand --format 'Output format: text, json, github, junit or sarif'
            cand --partition 'Check share I of N of the chunks (I from 0, or auto/N)'
            cand --first-index 'First number of the array job [default: 1 for SGE and LSF, else 0]'
            cand --against 'Compare the values with those of OTHER'
            cand --rtol 'Tolerance relative to OTHER''s value [default: 0]'
            cand --atol 'Absolute tolerance [default: 0]'
            cand --expect 'Check the metadata against FILE (JSON)'
            cand --write-expect 'Write a FILE for --expect from STORE'
            cand --explain 'Show what a code means and what to do'
            cand --report 'Write an HTML page with pictures'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Maximum memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Option of the store, with the cloud''s own name (repeatable)'
            cand --requests 'Maximum number of concurrent requests [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --cf 'Compare both sides as CF readers see them'
            cand --list-rules 'List every code with its severity'
            cand --json 'Print the result as JSON'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details: each node and absent chunk, and times'
            cand --verbose 'Print details: each node and absent chunk, and times'
            cand --anonymous 'Send no credentials (for public data)'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;apply-codec'= {
            cand --codecs 'Codec chain: JSON, @FILE, or words: zstd:5,crc32c'
            cand -d 'Data type of the decoded array'
            cand --data-type 'Data type of the decoded array'
            cand --shape 'Shape of the decoded array; `scalar` for 0-D'
            cand -f 'Fill value of the decoded array, as JSON'
            cand --fill-value 'Fill value of the decoded array, as JSON'
            cand --like 'Use the codec chain, data type and chunk shape of this array'
            cand --node 'Path of the node inside the store of --like'
            cand --chunk 'Decode this stored chunk instead of INPUT'
            cand --repeat 'Run N times and report the median speed of each codec'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Maximum memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Option of the store, with the cloud''s own name (repeatable)'
            cand --requests 'Maximum number of concurrent requests [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --decode 'Decode INPUT: run the chain backwards'
            cand --no-fill-check 'Do not stop if the chain changes the fill value'
            cand --stages 'Print a row for each codec on stderr'
            cand --round-trip 'Encode, decode and compare'
            cand --json 'Print the result as JSON'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details: each node and absent chunk, and times'
            cand --verbose 'Print details: each node and absent chunk, and times'
            cand --anonymous 'Send no credentials (for public data)'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;completions'= {
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;man'= {
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;transcode'= {
            cand --quantize 'Fit the range of floats to this integer type'
            cand --max-error 'Store floats as integers, each within E (data units)'
            cand --step 'Store floats as integer multiples of S'
            cand --keep-bits 'Keep N bits of the significand of floats'
            cand --as 'How to write the integers: codecs, cf or plain'
            cand --range 'Smallest and largest value to store [default: minimum and maximum]'
            cand --scale 'Scale of the codec, in (x - offset) * scale'
            cand --offset 'Offset of the codec'
            cand --missing 'Values that count as NaN; `auto`: _FillValue and missing_value'
            cand --codecs 'Replace the whole codec chain'
            cand --compress 'Replace the compressor: zstd:5, none or auto'
            cand --predict 'Store differences along dimensions: auto, none or time,lat'
            cand -c 'Chunk shape: 64,256 or time=1,lat=0 or auto'
            cand --chunk-shape 'Chunk shape: 64,256 or time=1,lat=0 or auto'
            cand -s 'Shard shape (Zarr v3), auto, or none'
            cand --shard-shape 'Shard shape (Zarr v3), auto, or none'
            cand --select 'Copy only a part: time=0:100,lat=20:'
            cand -d 'Convert the values; floats to integers are rounded'
            cand --data-type 'Convert the values; floats to integers are rounded'
            cand -f 'New fill value, as JSON; the values of the array stay the same'
            cand --fill-value 'New fill value, as JSON; the values of the array stay the same'
            cand --zarr-format 'Write this version of the Zarr format: 2 or 3'
            cand --separator 'Separator of the indices in chunk keys: `.` or `/`'
            cand --attributes 'Replace all attributes of arrays by JSON or @FILE'
            cand --attributes-append 'Add to arrays the attributes in JSON or @FILE, or replace them'
            cand --dimension-names 'New names of the dimensions'
            cand --nan-value 'Integer that stands for NaN'
            cand --rounding 'Rounding: nearest-even (default), nearest-away, towards-zero, towards-positive or towards-negative'
            cand --out-of-range '`clamp` values out of range, or `wrap` them modulo 2^N [default: fail]'
            cand --only 'Write only the arrays whose path matches, with their coordinates'
            cand --include 'Change only the arrays whose path matches'
            cand --exclude 'Do not change the arrays whose path matches'
            cand --rule 'Options for some arrays: ''GLOB: OPTIONS'''
            cand --require 'Write DEST only if quality measures are met'
            cand --partitions 'Number of parts of the job'
            cand --partition 'Run one part: its number from 0, or `auto` in a scheduler''s array job'
            cand --pass 'Pass of the part: range, staging or write [default: the first that is not complete]'
            cand --first-index 'First number of the array job [default: 1 for SGE and LSF, else 0]'
            cand --print-script 'Print a script for the whole job: slurm, kubernetes, dask or snakemake'
            cand --node 'Path of the node inside SOURCE'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Maximum memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Option of the store, with the cloud''s own name (repeatable)'
            cand --requests 'Maximum number of concurrent requests [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --report 'Write an HTML page with pictures'
            cand --no-workarounds 'Leave out the scalar_map entry that zarr-python 3.4.1 and 3.4.2 need'
            cand --unpack 'Undo quantising or CF packing: write floats again'
            cand --write-empty-chunks 'Write chunks that hold only the fill value'
            cand --allow-lossy-cast 'Allow a cast from integers to floats that can lose bits'
            cand --no-fill-check 'Do not stop if the codecs change the fill value'
            cand --no-consolidate 'Write no consolidated metadata'
            cand --verify 'Read DEST back and compare'
            cand --quality 'Measure what quantising did to the values'
            cand --dry-run 'Print the plan and write nothing'
            cand --estimate 'Estimate size and time from a sample (with --dry-run)'
            cand --overwrite 'Replace DEST'
            cand --resume 'Continue an unfinished run of the same command'
            cand --init 'Plan the job and write the plan into DEST (with --partitions)'
            cand --status 'Show which parts are done'
            cand --finish 'Check that all parts are done, and publish DEST'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details: each node and absent chunk, and times'
            cand --verbose 'Print details: each node and absent chunk, and times'
            cand --anonymous 'Send no credentials (for public data)'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand --json 'Print the result as JSON'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;help'= {
            cand inspect 'Show what is in a store: metadata, codec pipeline, storage, values'
            cand validate 'Check stores: metadata, keys, shard indexes, every chunk'
            cand apply-codec 'Encode or decode raw or .npy data with a codec chain'
            cand completions 'Print the completions for a shell'
            cand man 'Write the manual pages into a directory'
            cand transcode 'Write a copy of an array or group: smaller, in other chunks or another format'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'zarrcast;help;inspect'= {
        }
        &'zarrcast;help;validate'= {
        }
        &'zarrcast;help;apply-codec'= {
        }
        &'zarrcast;help;completions'= {
        }
        &'zarrcast;help;man'= {
        }
        &'zarrcast;help;transcode'= {
        }
        &'zarrcast;help;help'= {
        }
    ]
    $completions[$command]
}
