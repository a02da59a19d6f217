# weft_library(NAME SOURCES... LINK libraries...): a static library whose headers are included as "folder/header.h".
function(weft_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR}/tools)
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# weft_tool(STAGE SOURCES... LINK libraries...): weft-STAGE from main.cpp over the stage's library stage_STAGE.
function(weft_tool stage)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  weft_library(stage_${stage} SOURCES ${arg_SOURCES} LINK weft_artifact ${arg_LINK})
  add_executable(weft-${stage} main.cpp)
  target_link_libraries(weft-${stage} PRIVATE stage_${stage} weft_base)
  install(TARGETS weft-${stage} RUNTIME DESTINATION bin)
endfunction()

# weft_quick_start(TARGET): a program that is started very often. The C++ and the fmt library become part of it, which saves a third of the
# time of a short run. Where that does not link, and with sanitizers, the shared ones stay.
function(weft_quick_start target)
  if(WEFT_SANITIZE OR WEFT_FUZZ)
    return()
  endif()
  if(NOT DEFINED WEFT_QUICK_START)
    try_compile(WEFT_QUICK_START ${CMAKE_BINARY_DIR}/quick-start
      SOURCES ${CMAKE_SOURCE_DIR}/cmake/quick_start_check.cpp ${CMAKE_SOURCE_DIR}/cmake/quick_start_fmt.cpp
      LINK_OPTIONS -static-libstdc++ -static-libgcc CXX_STANDARD 20)
    message(STATUS "Programs that are started often have their own C++ library: ${WEFT_QUICK_START}")
  endif()
  if(WEFT_QUICK_START)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/quick_start_fmt.cpp)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed)
  endif()
endfunction()

# The test runner's main, compiled once.
add_library(weft_doctest_main OBJECT ${CMAKE_SOURCE_DIR}/tests/doctest_main.cpp)
target_link_libraries(weft_doctest_main PUBLIC doctest::doctest)

# weft_test(NAME SOURCES... LINK libraries...): a doctest program run by ctest. WEFT_TEST_DATA is tests/data,
# WEFT_BIN the folder of the built programs.
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_LINK} weft_doctest_main)
  target_compile_definitions(test_${name} PRIVATE WEFT_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
    WEFT_BIN="${CMAKE_BINARY_DIR}/bin" WEFT_SOURCE="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND test_${name})
endfunction()
