# Read by find_package(trellis). Gives trellis::trellis, the shared library, and trellis::static where the libraries
# that it stands on can be found; find_package(trellis COMPONENTS static) insists on it.
include(${CMAKE_CURRENT_LIST_DIR}/trellis-shared.cmake)

find_package(Threads QUIET)
find_package(ZLIB QUIET)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(SNDFILE QUIET IMPORTED_TARGET sndfile)
  pkg_check_modules(SOXR QUIET IMPORTED_TARGET soxr)
  pkg_check_modules(XXHASH QUIET IMPORTED_TARGET libxxhash)
  pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
  pkg_check_modules(UTF8PROC QUIET IMPORTED_TARGET libutf8proc)
  pkg_check_modules(LAPACKE QUIET IMPORTED_TARGET lapacke)
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
endif()
if(Threads_FOUND AND ZLIB_FOUND AND SNDFILE_FOUND AND SOXR_FOUND AND XXHASH_FOUND AND ZSTD_FOUND AND UTF8PROC_FOUND AND
   LAPACKE_FOUND AND OPENBLAS_FOUND)
  include(${CMAKE_CURRENT_LIST_DIR}/trellis-static.cmake)
  set(trellis_static_FOUND TRUE)
endif()

foreach(component ${trellis_FIND_COMPONENTS})
  if(trellis_FIND_REQUIRED_${component} AND NOT trellis_${component}_FOUND)
    set(trellis_FOUND FALSE)
    set(trellis_NOT_FOUND_MESSAGE
      "component '${component}' needs the development files of zlib, libsndfile, libsoxr, libxxhash, zstd, utf8proc, OpenBLAS and LAPACKE, and pkg-config")
  endif()
endforeach()
