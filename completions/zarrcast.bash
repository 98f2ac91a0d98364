_zarrcast() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="zarrcast"
                ;;
            zarrcast,apply-codec)
                cmd="zarrcast__subcmd__apply__subcmd__codec"
                ;;
            zarrcast,completions)
                cmd="zarrcast__subcmd__completions"
                ;;
            zarrcast,help)
                cmd="zarrcast__subcmd__help"
                ;;
            zarrcast,inspect)
                cmd="zarrcast__subcmd__inspect"
                ;;
            zarrcast,man)
                cmd="zarrcast__subcmd__man"
                ;;
            zarrcast,transcode)
                cmd="zarrcast__subcmd__transcode"
                ;;
            zarrcast,validate)
                cmd="zarrcast__subcmd__validate"
                ;;
            zarrcast__subcmd__help,apply-codec)
                cmd="zarrcast__subcmd__help__subcmd__apply__subcmd__codec"
                ;;
            zarrcast__subcmd__help,completions)
                cmd="zarrcast__subcmd__help__subcmd__completions"
                ;;
            zarrcast__subcmd__help,help)
                cmd="zarrcast__subcmd__help__subcmd__help"
                ;;
            zarrcast__subcmd__help,inspect)
                cmd="zarrcast__subcmd__help__subcmd__inspect"
                ;;
            zarrcast__subcmd__help,man)
                cmd="zarrcast__subcmd__help__subcmd__man"
                ;;
            zarrcast__subcmd__help,transcode)
                cmd="zarrcast__subcmd__help__subcmd__transcode"
                ;;
            zarrcast__subcmd__help,validate)
                cmd="zarrcast__subcmd__help__subcmd__validate"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        zarrcast)
            opts="-h -V --help --version inspect validate apply-codec completions man transcode help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__apply__subcmd__codec)
            opts="-d -f -q -v -h -V --codecs --decode --data-type --shape --fill-value --no-fill-check --like --node --chunk --stages --round-trip --repeat --json --threads --max-memory --quiet --verbose --color --progress --storage-option --anonymous --requests --missing-status --allow-file-references --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --codecs)
                    COMPREPLY=($(compgen -W "zstd gzip blosc crc32c bytes" -- "${cur}"))
                    return 0
                    ;;
                --data-type)
                    COMPREPLY=($(compgen -W "bfloat16 bool complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn complex_float64 complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2 int32 int4 int64 int8 uint16 uint2 uint32 uint4 uint64 uint8" -- "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -W "bfloat16 bool complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn complex_float64 complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2 int32 int4 int64 int8 uint16 uint2 uint32 uint4 uint64 uint8" -- "${cur}"))
                    return 0
                    ;;
                --shape)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fill-value)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -f)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --like)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --node)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --repeat)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --progress)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --storage-option)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --requests)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --missing-status)
                    COMPREPLY=($(compgen -W "403" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__completions)
            opts="-h -V --help --version bash elvish fish powershell zsh"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help)
            opts="inspect validate apply-codec completions man transcode help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__apply__subcmd__codec)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__completions)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__inspect)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__man)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__transcode)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__help__subcmd__validate)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__inspect)
            opts="-q -v -h -V --node --storage --depth --stats --histogram --suggest --sample --information --chunk --inner-chunk --preview --missing --cf --preview-png --report --json --threads --max-memory --quiet --verbose --color --progress --storage-option --anonymous --requests --missing-status --allow-file-references --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --node)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --storage)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --histogram)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --suggest)
                    COMPREPLY=($(compgen -W "int16 int2 int32 int4 int64 int8 uint16 uint2 uint32 uint4 uint64 uint8" -- "${cur}"))
                    return 0
                    ;;
                --sample)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --preview)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --missing)
                    COMPREPLY=($(compgen -W "auto none" -- "${cur}"))
                    return 0
                    ;;
                --preview-png)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --report)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --progress)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --storage-option)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --requests)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --missing-status)
                    COMPREPLY=($(compgen -W "403" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__man)
            opts="-h -V --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__transcode)
            opts="-c -s -d -f -q -v -h -V --quantize --max-error --step --keep-bits --as --range --scale --offset --missing --no-workarounds --codecs --compress --predict --chunk-shape --shard-shape --select --data-type --fill-value --zarr-format --separator --attributes --attributes-append --dimension-names --unpack --write-empty-chunks --nan-value --rounding --out-of-range --allow-lossy-cast --no-fill-check --only --include --exclude --rule --no-consolidate --verify --quality --require --dry-run --estimate --overwrite --resume --init --partitions --partition --pass --first-index --status --finish --print-script --node --threads --max-memory --quiet --verbose --color --progress --storage-option --anonymous --requests --missing-status --allow-file-references --json --report --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --quantize)
                    COMPREPLY=($(compgen -W "int16 int2 int32 int4 int64 int8 uint16 uint2 uint32 uint4 uint64 uint8" -- "${cur}"))
                    return 0
                    ;;
                --max-error)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --step)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --keep-bits)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --as)
                    COMPREPLY=($(compgen -W "codecs cf plain" -- "${cur}"))
                    return 0
                    ;;
                --range)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --scale)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --offset)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --missing)
                    COMPREPLY=($(compgen -W "auto" -- "${cur}"))
                    return 0
                    ;;
                --codecs)
                    COMPREPLY=($(compgen -W "zstd gzip blosc crc32c bytes" -- "${cur}"))
                    return 0
                    ;;
                --compress)
                    COMPREPLY=($(compgen -W "zstd gzip blosc crc32c none" -- "${cur}"))
                    return 0
                    ;;
                --predict)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --chunk-shape)
                    COMPREPLY=($(compgen -W "auto" -- "${cur}"))
                    return 0
                    ;;
                -c)
                    COMPREPLY=($(compgen -W "auto" -- "${cur}"))
                    return 0
                    ;;
                --shard-shape)
                    COMPREPLY=($(compgen -W "auto none" -- "${cur}"))
                    return 0
                    ;;
                -s)
                    COMPREPLY=($(compgen -W "auto none" -- "${cur}"))
                    return 0
                    ;;
                --select)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --data-type)
                    COMPREPLY=($(compgen -W "bfloat16 bool complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn complex_float64 complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2 int32 int4 int64 int8 uint16 uint2 uint32 uint4 uint64 uint8" -- "${cur}"))
                    return 0
                    ;;
                -d)
                    COMPREPLY=($(compgen -W "bfloat16 bool complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn complex_float64 complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2 int32 int4 int64 int8 uint16 uint2 uint32 uint4 uint64 uint8" -- "${cur}"))
                    return 0
                    ;;
                --fill-value)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -f)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --zarr-format)
                    COMPREPLY=($(compgen -W "2 3" -- "${cur}"))
                    return 0
                    ;;
                --separator)
                    COMPREPLY=($(compgen -W ". /" -- "${cur}"))
                    return 0
                    ;;
                --attributes)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --attributes-append)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --dimension-names)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --nan-value)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rounding)
                    COMPREPLY=($(compgen -W "nearest-even towards-zero towards-positive towards-negative nearest-away" -- "${cur}"))
                    return 0
                    ;;
                --out-of-range)
                    COMPREPLY=($(compgen -W "clamp wrap" -- "${cur}"))
                    return 0
                    ;;
                --only)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --include)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --exclude)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rule)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --require)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --partitions)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --partition)
                    COMPREPLY=($(compgen -W "auto" -- "${cur}"))
                    return 0
                    ;;
                --pass)
                    COMPREPLY=($(compgen -W "range staging write" -- "${cur}"))
                    return 0
                    ;;
                --first-index)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --print-script)
                    COMPREPLY=($(compgen -W "slurm kubernetes dask snakemake" -- "${cur}"))
                    return 0
                    ;;
                --node)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --progress)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --storage-option)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --requests)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --missing-status)
                    COMPREPLY=($(compgen -W "403" -- "${cur}"))
                    return 0
                    ;;
                --report)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        zarrcast__subcmd__validate)
            opts="-q -v -h -V --node --level --deny --allow --max-findings --format --partition --first-index --against --rtol --atol --cf --expect --write-expect --explain --list-rules --report --json --threads --max-memory --quiet --verbose --color --progress --storage-option --anonymous --requests --missing-status --allow-file-references --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --node)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --level)
                    COMPREPLY=($(compgen -W "metadata keys index data" -- "${cur}"))
                    return 0
                    ;;
                --deny)
                    COMPREPLY=($(compgen -W "warnings ZC101 ZC102 ZC103 ZC104 ZC105 ZC106 ZC107 ZC111 ZC112 ZC113 ZC114 ZC115 ZC116 ZC201 ZC202 ZC211 ZC212 ZC213 ZC214 ZC215 ZC216 ZC221 ZC222 ZC223 ZC224 ZC225 ZC231 ZC232 ZC233 ZC234 ZC235 ZC236 ZC237 ZC241 ZC242 ZC302 ZC303 ZC304 ZC305 ZC306 ZC307 ZC308 ZC309 ZC310 ZC311 ZD101 ZD102 ZD103 ZD104 ZD105 ZD106 ZD107 ZD108 ZD201 ZD202 ZD203 ZD204 ZD205 ZD206 ZD207 ZG101 ZG102 ZG103 ZG104 ZG105 ZG106 ZG107 ZG108 ZH101 ZH102 ZH103 ZH104 ZH111 ZH112 ZH113 ZH114 ZH115 ZH201 ZH202 ZH203 ZH204 ZH205 ZK101 ZK103 ZK105 ZK201 ZK202 ZK203 ZK204 ZK205 ZK206 ZK207 ZK208 ZK209 ZK211 ZK212 ZK213 ZK221 ZK222 ZM001 ZM002 ZM003 ZM011 ZM012 ZM101 ZM102 ZM103 ZM104 ZM105 ZM106 ZM107 ZM108 ZM109 ZM110 ZM111 ZM112 ZM201 ZM202 ZM211 ZM212 ZM213 ZM221 ZM222 ZM223 ZM224 ZM231 ZM240 ZM301 ZM302 ZM303 ZS101 ZS102 ZS103 ZS104 ZS105 ZS106 ZS107 ZX101 ZX102 ZX103 ZX104 ZX105 ZX201" -- "${cur}"))
                    return 0
                    ;;
                --allow)
                    COMPREPLY=($(compgen -W "ZC101 ZC102 ZC103 ZC104 ZC105 ZC106 ZC107 ZC111 ZC112 ZC113 ZC114 ZC115 ZC116 ZC201 ZC202 ZC211 ZC212 ZC213 ZC214 ZC215 ZC216 ZC221 ZC222 ZC223 ZC224 ZC225 ZC231 ZC232 ZC233 ZC234 ZC235 ZC236 ZC237 ZC241 ZC242 ZC302 ZC303 ZC304 ZC305 ZC306 ZC307 ZC308 ZC309 ZC310 ZC311 ZD101 ZD102 ZD103 ZD104 ZD105 ZD106 ZD107 ZD108 ZD201 ZD202 ZD203 ZD204 ZD205 ZD206 ZD207 ZG101 ZG102 ZG103 ZG104 ZG105 ZG106 ZG107 ZG108 ZH101 ZH102 ZH103 ZH104 ZH111 ZH112 ZH113 ZH114 ZH115 ZH201 ZH202 ZH203 ZH204 ZH205 ZK101 ZK103 ZK105 ZK201 ZK202 ZK203 ZK204 ZK205 ZK206 ZK207 ZK208 ZK209 ZK211 ZK212 ZK213 ZK221 ZK222 ZM001 ZM002 ZM003 ZM011 ZM012 ZM101 ZM102 ZM103 ZM104 ZM105 ZM106 ZM107 ZM108 ZM109 ZM110 ZM111 ZM112 ZM201 ZM202 ZM211 ZM212 ZM213 ZM221 ZM222 ZM223 ZM224 ZM231 ZM240 ZM301 ZM302 ZM303 ZS101 ZS102 ZS103 ZS104 ZS105 ZS106 ZS107 ZX101 ZX102 ZX103 ZX104 ZX105 ZX201" -- "${cur}"))
                    return 0
                    ;;
                --max-findings)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "text json github junit sarif" -- "${cur}"))
                    return 0
                    ;;
                --partition)
                    COMPREPLY=($(compgen -W "auto" -- "${cur}"))
                    return 0
                    ;;
                --first-index)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --against)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rtol)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --atol)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --expect)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --write-expect)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --explain)
                    COMPREPLY=($(compgen -W "ZC101 ZC102 ZC103 ZC104 ZC105 ZC106 ZC107 ZC111 ZC112 ZC113 ZC114 ZC115 ZC116 ZC201 ZC202 ZC211 ZC212 ZC213 ZC214 ZC215 ZC216 ZC221 ZC222 ZC223 ZC224 ZC225 ZC231 ZC232 ZC233 ZC234 ZC235 ZC236 ZC237 ZC241 ZC242 ZC302 ZC303 ZC304 ZC305 ZC306 ZC307 ZC308 ZC309 ZC310 ZC311 ZD101 ZD102 ZD103 ZD104 ZD105 ZD106 ZD107 ZD108 ZD201 ZD202 ZD203 ZD204 ZD205 ZD206 ZD207 ZG101 ZG102 ZG103 ZG104 ZG105 ZG106 ZG107 ZG108 ZH101 ZH102 ZH103 ZH104 ZH111 ZH112 ZH113 ZH114 ZH115 ZH201 ZH202 ZH203 ZH204 ZH205 ZK101 ZK103 ZK105 ZK201 ZK202 ZK203 ZK204 ZK205 ZK206 ZK207 ZK208 ZK209 ZK211 ZK212 ZK213 ZK221 ZK222 ZM001 ZM002 ZM003 ZM011 ZM012 ZM101 ZM102 ZM103 ZM104 ZM105 ZM106 ZM107 ZM108 ZM109 ZM110 ZM111 ZM112 ZM201 ZM202 ZM211 ZM212 ZM213 ZM221 ZM222 ZM223 ZM224 ZM231 ZM240 ZM301 ZM302 ZM303 ZS101 ZS102 ZS103 ZS104 ZS105 ZS106 ZS107 ZX101 ZX102 ZX103 ZX104 ZX105 ZX201" -- "${cur}"))
                    return 0
                    ;;
                --report)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-memory)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --progress)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --storage-option)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --requests)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --missing-status)
                    COMPREPLY=($(compgen -W "403" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _zarrcast -o nosort -o bashdefault -o default zarrcast
else
    complete -F _zarrcast -o bashdefault -o default zarrcast
fi
