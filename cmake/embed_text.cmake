# Writes OUTPUT: the text of FILE as the C array NAME.
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made from ${FILE} by embed_text.cmake. */
extern const char ${NAME}[];
const char ${NAME}[] = {
${bytes}0x00
};
")
