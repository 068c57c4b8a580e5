# The files KERNELS, one behind the other, as an array of bytes in the C file OUTPUT.
set(bytes "")
foreach(file ${KERNELS})
  file(READ ${file} content HEX)
  string(APPEND bytes "${content}")
endforeach()
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"backend/kernels/kernel_source.h\"\n
const char trl__kernel_source[] = {${bytes}0};\nconst size_t trl__kernel_source_size = ${size};\n")
