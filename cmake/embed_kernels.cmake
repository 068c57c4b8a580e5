# The files FILES, one behind the other, as an array of bytes trl__NAME in the C file OUTPUT, whose size is in trl__NAME_size; HEADER declares
# both.
set(bytes "")
foreach(file ${FILES})
  file(READ ${file} content HEX)
  string(APPEND bytes "${content}")
endforeach()
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n
_Alignas(64) const char trl__${NAME}[] = {${bytes}0};\nconst size_t trl__${NAME}_size = ${size};\n")
