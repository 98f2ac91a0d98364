
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
            cand transcode 'Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised'
            cand apply-codec 'Run a codec chain, either way, over raw or .npy data'
            cand completions 'Print the completions for a shell'
            cand man 'Write the manual pages into a directory'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'zarrcast;inspect'= {
            cand --node 'The path of a node inside each store'
            cand --storage 'Count what is stored: chunks, shards, bytes, and keys that belong to no chunk'
            cand --depth 'Of a group, show nodes at most this far below it'
            cand --histogram 'Count the values in bins of equal width; from the least to the greatest, unless a range is given'
            cand --suggest 'Try ways to store floats smaller; or suggest scale_offset and cast_value for integers of this type'
            cand --sample 'Let --suggest try the ways on about this many chunks'
            cand --chunk 'Decode one object of the stored grid, codec by codec, with sizes, times and checksums'
            cand --preview 'Draw a slice: of the last two dimensions, at index 0 of the others, or where AXIS=INDEX says'
            cand --missing 'Values that count as missing, which no figure is over; `auto`: those that are declared'
            cand --preview-png 'Draw the slice of --preview into a PNG file of at most 1024 x 1024 pixels'
            cand --report 'Write the result as a page with pictures, too: one HTML file that needs nothing from elsewhere'
            cand --threads 'Worker threads'
            cand --max-memory 'Bytes of chunk data in flight, such as 512MiB or 2GB'
            cand --color 'When to colour the output'
            cand --progress 'When to show progress, on stderr'
            cand --storage-option 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)'
            cand --requests 'The most requests in flight [default: 64]'
            cand --missing-status 'Take chunks that the store refuses for absent'
            cand --stats 'Read all values: least, greatest, mean, standard deviation, and how many are NaN, infinite, missing, the fill value'
            cand --information 'Find the bitwise real information along each dimension, and the bits that keep 99 and 99.9 % of it'
            cand --inner-chunk 'Let --chunk count inner chunks of shards'
            cand --cf 'Apply the attributes scale_factor, add_offset and _Unsigned first, as CF readers do'
            cand --json 'Print the result as one JSON document'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Say on stderr what was done, and how long it took'
            cand --verbose 'Say on stderr what was done, and how long it took'
            cand --anonymous 'Sign no requests: for public data'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;validate'= {
            cand --node 'The path of a node inside each store, OTHER included'
            cand --level 'How deep to look [default: keys; of a store that does not list, such as a web server: metadata]'
            cand --deny 'Take a code, or all warnings, as errors (repeatable)'
            cand --allow 'Leave the findings of a code out (repeatable)'
            cand --max-findings 'Show the first N findings; 0 shows all'
            cand --format 'In what form to report'
            cand --partition 'Of the stored chunks and shards, look at the I-th of N shares only; I from 0, or `auto` for a scheduler''s number'
            cand --first-index 'What the scheduler counts shares from [default: 1 for SGE and LSF, else 0]'
            cand --against 'Compare the values with those of OTHER, whatever its chunks, codecs and data types'
            cand --rtol 'The tolerance relative to OTHER''s value [default: 0]'
            cand --atol 'The absolute tolerance [default: 0]'
            cand --expect 'What must hold: a document of --write-expect or of `inspect --json`, or members of it'
            cand --write-expect 'Write what --expect takes, for STORE as it is'
            cand --explain 'Show what a code means, why it matters and what to do'
            cand --report 'Write the result as a page with pictures, too: one HTML file that needs nothing from elsewhere'
            cand --threads 'Worker threads'
            cand --max-memory 'Bytes of chunk data in flight, such as 512MiB or 2GB'
            cand --color 'When to colour the output'
            cand --progress 'When to show progress, on stderr'
            cand --storage-option 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)'
            cand --requests 'The most requests in flight [default: 64]'
            cand --missing-status 'Take chunks that the store refuses for absent'
            cand --cf 'Compare the values as CF readers see both sides'
            cand --list-rules 'List every code with its severity'
            cand --json 'Print the result as one JSON document'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Say on stderr what was done, and how long it took'
            cand --verbose 'Say on stderr what was done, and how long it took'
            cand --anonymous 'Sign no requests: for public data'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;transcode'= {
            cand --node 'The path of the node of SOURCE to read'
            cand --codecs 'The whole codec chain: JSON, @FILE, or the words of --compress (`bytes` is put in front of them)'
            cand --compress 'The whole list of bytes->bytes codecs of the innermost chain'
            cand -c 'The chunk shape; of a sharded array that of the inner chunks'
            cand --chunk-shape 'The chunk shape; of a sharded array that of the inner chunks'
            cand -s 'The shard shape: chunks are put into shards, or into other ones; `none` takes them out'
            cand --shard-shape 'The shard shape: chunks are put into shards, or into other ones; `none` takes them out'
            cand --select 'A part of the array, by dimensions: `time=0:100,lat=20:`; of a hierarchy, of every array that has them'
            cand -d 'The data type; values are converted'
            cand --data-type 'The data type; values are converted'
            cand -f 'The fill value, as JSON; values are kept'
            cand --fill-value 'The fill value, as JSON; values are kept'
            cand --zarr-format 'The version of the Zarr format; chunks are copied where they can stay'
            cand --separator 'What stands between the indices in chunk keys'
            cand --attributes 'All attributes, as JSON or @FILE'
            cand --attributes-append 'Attributes that are added or replaced, as JSON or @FILE'
            cand --dimension-names 'The names of the dimensions'
            cand --quantize 'Store floats as integers of this type, by scale_offset and cast_value'
            cand --max-error 'The greatest error that is allowed; quantises in the widest step that keeps it'
            cand --step 'The step between codes; quantises to multiples of it'
            cand --keep-bits 'Keep N bits of the significand of floats, or as many as keep P (0.99) of their information; they stay floats'
            cand --as 'How the codes are written'
            cand --range 'The values of the first and the last code; default: the least and the greatest finite value'
            cand --scale 'The codec''s own scale, in (x - offset) * scale'
            cand --offset 'The codec''s own offset'
            cand --missing 'Values that count as NaN; `auto`: the attributes _FillValue and missing_value'
            cand --nan-value 'What NaN becomes: the code that stands for it (with --quantize), or a value (with --data-type)'
            cand --rounding 'How a value between two representable ones is rounded; default: nearest-even'
            cand --out-of-range 'What becomes of a value out of range; default: an error'
            cand --only 'Write only the arrays whose path matches'
            cand --include 'Change only the arrays whose path matches; the others are copied'
            cand --exclude 'Copy the arrays whose path matches'
            cand --rule 'Options for the arrays whose path matches; of several rules the later ones win'
            cand --require 'What each quantised array has to keep, else DEST is not published and the exit status is 1'
            cand --partitions 'In how many parts the job is cut; fewer where there are fewer stored objects'
            cand --partition 'Do a part of the planned job: its number, from 0, or `auto` for that of a scheduler''s array job'
            cand --pass 'The pass of which a part is done; the first that is not complete'
            cand --first-index 'What the scheduler counts parts from [default: 1 for SGE and LSF, else 0]'
            cand --print-script 'Print a script that does all of the planned job: its parts, the finish, and again what is missing'
            cand --report 'Write the result as a page with pictures, too: one HTML file that needs nothing from elsewhere'
            cand --threads 'Worker threads'
            cand --max-memory 'Bytes of chunk data in flight, such as 512MiB or 2GB'
            cand --color 'When to colour the output'
            cand --progress 'When to show progress, on stderr'
            cand --storage-option 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)'
            cand --requests 'The most requests in flight [default: 64]'
            cand --missing-status 'Take chunks that the store refuses for absent'
            cand --unpack 'Plain floats: drop scale_offset and cast_value, or apply the CF attributes'
            cand --write-empty-chunks 'Write chunks that hold only the fill value'
            cand --no-workarounds 'Leave out what is only there for readers that do not open what is valid'
            cand --allow-lossy-cast 'Write a cast from integers to floats that can lose bits'
            cand --no-fill-check 'Accept a fill value that the codec chain does not bring back'
            cand --no-consolidate 'Leave consolidated metadata out'
            cand --verify 'Read DEST back and compare'
            cand --quality 'Measure what quantising did to the values, by what is read back of DEST'
            cand --dry-run 'Print the plan, reading no chunk but for an estimate'
            cand --estimate 'Let the plan say how large DEST will be and how long it takes, from a sample of the chunks that is encoded'
            cand --overwrite 'Replace DEST: an array, a group, an unfinished run or an empty folder'
            cand --resume 'Go on with an unfinished run of the same command; with no DEST, start'
            cand --init 'Plan the job once, and seal the plan in DEST; needs --partitions'
            cand --status 'Say which parts of the planned job are done, by pass; nothing is changed'
            cand --finish 'Prove that all parts are there, and publish DEST'
            cand --json 'Print the result as one JSON document'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Say on stderr what was done, and how long it took'
            cand --verbose 'Say on stderr what was done, and how long it took'
            cand --anonymous 'Sign no requests: for public data'
            cand --allow-file-references 'Let a reference file point at local files outside its folder'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'zarrcast;apply-codec'= {
            cand --codecs 'The codec chain: JSON, @FILE, or words as in `transcode --compress`, such as zstd:5,crc32c'
            cand -d 'The data type of the decoded array'
            cand --data-type 'The data type of the decoded array'
            cand --shape 'The shape of the decoded array; `scalar` for 0-D'
            cand -f 'The fill value of the decoded array, as JSON; without it none is checked or transformed'
            cand --fill-value 'The fill value of the decoded array, as JSON; without it none is checked or transformed'
            cand --like 'Take the chain, the data type and the chunk shape of this array'
            cand --node 'The path of the node of --like'
            cand --chunk 'Decode this stored chunk of the array instead of INPUT'
            cand --repeat 'Run N times and report the median throughput of each codec'
            cand --threads 'Worker threads'
            cand --max-memory 'Bytes of chunk data in flight, such as 512MiB or 2GB'
            cand --color 'When to colour the output'
            cand --progress 'When to show progress, on stderr'
            cand --storage-option 'A setting of the store, by the name that the cloud''s own tools have for it (repeatable)'
            cand --requests 'The most requests in flight [default: 64]'
            cand --missing-status 'Take chunks that the store refuses for absent'
            cand --decode 'Run the chain backwards'
            cand --no-fill-check 'Accept a fill value that the chain does not bring back'
            cand --stages 'Print a row for each codec on stderr: type, shape, fill value, bytes, time'
            cand --round-trip 'Encode, decode and compare'
            cand --json 'Print the result as one JSON document'
            cand -q 'Print no warnings and no progress'
            cand --quiet 'Print no warnings and no progress'
            cand -v 'Say on stderr what was done, and how long it took'
            cand --verbose 'Say on stderr what was done, and how long it took'
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
        &'zarrcast;help'= {
            cand inspect 'Show what is in a store: metadata, codec pipeline, storage, values'
            cand validate 'Check stores: metadata, keys, shard indexes, every chunk'
            cand transcode 'Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised'
            cand apply-codec 'Run a codec chain, either way, over raw or .npy data'
            cand completions 'Print the completions for a shell'
            cand man 'Write the manual pages into a directory'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'zarrcast;help;inspect'= {
        }
        &'zarrcast;help;validate'= {
        }
        &'zarrcast;help;transcode'= {
        }
        &'zarrcast;help;apply-codec'= {
        }
        &'zarrcast;help;completions'= {
        }
        &'zarrcast;help;man'= {
        }
        &'zarrcast;help;help'= {
        }
    ]
    $completions[$command]
}
