
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
            cand apply-codec 'Run a codec chain, either way, over raw or .npy data'
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
            cand --suggest 'Try ways to store floats smaller, with commands'
            cand --sample 'Chunks that --suggest tries, about'
            cand --chunk 'Decode one chunk, codec by codec'
            cand --preview 'Draw a slice of the last two dimensions'
            cand --missing 'Values that count as missing; `auto`: those that attributes declare'
            cand --preview-png 'Draw the slice into a PNG file, at most 1024 x 1024'
            cand --report 'Write an HTML page with pictures'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Setting of the store, by the cloud''s own name (repeatable)'
            cand --requests 'Requests in flight at most [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --stats 'Minimum, maximum, mean, deviation, NaN count'
            cand --information 'Bitwise real information of each bit'
            cand --inner-chunk 'Let --chunk count inner chunks of shards'
            cand --cf 'Apply scale_factor, add_offset and _Unsigned first'
            cand --json 'Print the result as JSON'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details and times on stderr'
            cand --verbose 'Print details and times on stderr'
            cand --anonymous 'Sign no requests: for public data'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;validate'= {
            cand --node 'Path of a node inside each store, OTHER included'
            cand --level 'Depth: metadata, keys, index or data [default: keys]'
            cand --deny 'Take a code, or all warnings, as errors'
            cand --allow 'Leave out the findings of a code'
            cand --max-findings 'Show the first N findings; 0 shows all'
            cand --format 'Form: text, json, github, junit or sarif'
            cand --partition 'Check the I-th of N shares of the chunks; I from 0, or auto/N'
            cand --first-index 'First number of the scheduler [default: 1 for SGE and LSF, else 0]'
            cand --against 'Compare the values with those of OTHER'
            cand --rtol 'Tolerance relative to OTHER''s value [default: 0]'
            cand --atol 'Absolute tolerance [default: 0]'
            cand --expect 'Require the members of a JSON document'
            cand --write-expect 'Write what --expect takes, for STORE as it is'
            cand --explain 'Show what a code means and what to do'
            cand --report 'Write an HTML page with pictures'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Setting of the store, by the cloud''s own name (repeatable)'
            cand --requests 'Requests in flight at most [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --cf 'Compare what CF readers see of both sides'
            cand --list-rules 'List every code with its severity'
            cand --json 'Print the result as JSON'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details and times on stderr'
            cand --verbose 'Print details and times on stderr'
            cand --anonymous 'Sign no requests: for public data'
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
            cand --like 'Take chain, data type and chunk shape of this array'
            cand --node 'Path of the node of --like'
            cand --chunk 'Decode this stored chunk instead of INPUT'
            cand --repeat 'Run N times, report the median rate of each codec'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Setting of the store, by the cloud''s own name (repeatable)'
            cand --requests 'Requests in flight at most [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --decode 'Run the chain backwards'
            cand --no-fill-check 'Accept a fill value that the chain does not bring back'
            cand --stages 'Print a row for each codec on stderr'
            cand --round-trip 'Encode, decode and compare'
            cand --json 'Print the result as JSON'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details and times on stderr'
            cand --verbose 'Print details and times on stderr'
            cand --anonymous 'Sign no requests: for public data'
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
            cand --quantize 'Store floats as this integer type'
            cand --max-error 'Store floats as integers, each within E'
            cand --step 'Store floats as integer multiples of S'
            cand --keep-bits 'Round floats to N significant bits'
            cand --as 'Form of the codes: codecs, cf or plain'
            cand --range 'Values of the first and the last code [default: minimum and maximum]'
            cand --scale 'Scale of the codec, in (x - offset) * scale'
            cand --offset 'Offset of the codec'
            cand --missing 'Values that count as NaN; `auto`: _FillValue and missing_value'
            cand --codecs 'Replace the whole codec chain'
            cand --compress 'Replace the compressor: zstd:5, none or auto'
            cand --predict 'Store differences along dimensions: auto, none or time,lat'
            cand -c 'Chunk shape: 64,256 or time=1,lat=0 or auto'
            cand --chunk-shape 'Chunk shape: 64,256 or time=1,lat=0 or auto'
            cand -s 'Shard shape, auto, or none'
            cand --shard-shape 'Shard shape, auto, or none'
            cand --select 'Take a part: time=0:100,lat=20:'
            cand -d 'Convert the values to this data type'
            cand --data-type 'Convert the values to this data type'
            cand -f 'Fill value, as JSON; values are kept'
            cand --fill-value 'Fill value, as JSON; values are kept'
            cand --zarr-format 'Write this version of the Zarr format: 2 or 3'
            cand --separator 'Separator of the indices in chunk keys: `.` or `/`'
            cand --attributes 'All attributes, as JSON or @FILE'
            cand --attributes-append 'Attributes to add or replace, as JSON or @FILE'
            cand --dimension-names 'Names of the dimensions'
            cand --nan-value 'Code of NaN (with --quantize), or its value (with --data-type)'
            cand --rounding 'Rounding: nearest-even (default), nearest-away, towards-zero, towards-positive or towards-negative'
            cand --out-of-range 'Take values out of range: `clamp` to the nearest bound, or `wrap` modulo 2^N [default: an error]'
            cand --only 'Write only the arrays whose path matches, with their coordinates'
            cand --include 'Change only the arrays whose path matches'
            cand --exclude 'Copy the arrays whose path matches'
            cand --rule 'Options for some arrays: ''GLOB: OPTIONS'''
            cand --require 'Write only if quality measures hold'
            cand --partitions 'Number of parts of the job'
            cand --partition 'Do one part: its number from 0, or `auto` in a scheduler''s array job'
            cand --pass 'Pass of the part [default: the first that is not complete]'
            cand --first-index 'First number of the scheduler [default: 1 for SGE and LSF, else 0]'
            cand --print-script 'Print a script for the whole job: slurm, kubernetes, dask or snakemake'
            cand --node 'Path of the node of SOURCE to read'
            cand --threads 'Worker threads [default: all cores]'
            cand --max-memory 'Memory for chunks, such as 512MiB or 2GB'
            cand --color 'Colour the output: auto, always or never (`auto` honours NO_COLOR)'
            cand --progress 'Show progress on stderr: auto, always or never'
            cand --storage-option 'Setting of the store, by the cloud''s own name (repeatable)'
            cand --requests 'Requests in flight at most [default: 64]'
            cand --missing-status 'Treat refused chunks (403) as missing'
            cand --report 'Write an HTML page with pictures'
            cand --no-workarounds 'Do not add the entry that zarr-python 3.4.1 and 3.4.2 need'
            cand --unpack 'Undo quantising or CF packing: plain floats'
            cand --write-empty-chunks 'Write chunks that hold only the fill value'
            cand --allow-lossy-cast 'Allow a cast from integers to floats that can lose bits'
            cand --no-fill-check 'Accept a fill value that the codecs do not bring back'
            cand --no-consolidate 'Leave consolidated metadata out'
            cand --verify 'Read DEST back and compare'
            cand --quality 'Measure what quantising did to the values'
            cand --dry-run 'Print the plan and write nothing'
            cand --estimate 'Estimate size and time from a sample (with --dry-run)'
            cand --overwrite 'Replace DEST'
            cand --resume 'Continue an unfinished run of the same command'
            cand --init 'Plan the job and write the plan into DEST (with --partitions)'
            cand --status 'Show which parts are done'
            cand --finish 'Check that all parts are there, and publish DEST'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Print details and times on stderr'
            cand --verbose 'Print details and times on stderr'
            cand --anonymous 'Sign no requests: for public data'
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
            cand apply-codec 'Run a codec chain, either way, over raw or .npy data'
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
