# find_package(once): the target once::once.
include(${CMAKE_CURRENT_LIST_DIR}/onceTargets.cmake)
