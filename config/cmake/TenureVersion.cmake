# Generates <tenure/lockcore/version.hpp> from the project's version and adds it to lockcore's public headers.
set(TENURE_GENERATED_INCLUDE "${PROJECT_BINARY_DIR}/generated/include")
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.hpp.in"
  "${TENURE_GENERATED_INCLUDE}/tenure/lockcore/version.hpp" @ONLY)

target_sources(tenure_lockcore PUBLIC FILE_SET HEADERS
  BASE_DIRS "${TENURE_GENERATED_INCLUDE}"
  FILES "${TENURE_GENERATED_INCLUDE}/tenure/lockcore/version.hpp")
