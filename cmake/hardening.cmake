# What a fault would have to get past before it is an attack. Messages, answers
# of servers and files come from outside; each flag is taken where the compiler
# and the machine know it. tests/lint/hardened.sh holds it.
#
#	once_harden(TARGET)    an INTERFACE library that all of ours link
include(CheckCCompilerFlag)
include(CheckPIESupported)

check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

function(once_harden target)
	foreach(flag IN ITEMS
		-fstack-protector-strong     # a canary before each return
		-fstack-clash-protection     # no jump over the guard page
		-fcf-protection=full         # x86: IBT and shadow stacks
		-mbranch-protection=standard # the same on ARM
	)
		string(MAKE_C_IDENTIFIER "ONCE_HAS${flag}" known)
		check_c_compiler_flag(${flag} ${known})
		if(${known})
			target_compile_options(${target} INTERFACE ${flag})
		endif()
	endforeach()
	# It needs an optimizer, and the sanitizers have their own.
	if(NOT ONCE_SANITIZE)
		target_compile_options(${target} INTERFACE
			$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
			$<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
	endif()
	# All symbols are bound at the start, and their table is read-only then.
	target_link_options(${target} INTERFACE
		-Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endfunction()
