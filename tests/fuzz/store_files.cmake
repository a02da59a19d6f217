# What weft-cache reads: records, dependency files, executables.
weft_fuzzer(store_files SOURCES store_files.cpp LINK stage_cache)
