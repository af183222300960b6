# An overlay port of a clone or of an unpacked tarball: vcpkg install tenure --overlay-ports=config/vcpkg
# In a registry vcpkg_from_github takes the place of the next line.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        config TENURE_WITH_CONFIG
        dynamodb TENURE_WITH_DYNAMODB
        etcd TENURE_WITH_ETCD_STORE
        http TENURE_WITH_HTTP_FENCE
        jobs TENURE_WITH_JOBS
        kubernetes TENURE_WITH_KUBERNETES_STORE
        postgresql TENURE_WITH_POSTGRESQL
        postgresql TENURE_WITH_POSTGRESQL_STORE
        redis TENURE_WITH_REDIS
        sqlite TENURE_WITH_SQLITE
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DTENURE_BUILD_TESTS=OFF
        -DTENURE_BUILD_EXAMPLES=OFF
        -DTENURE_BUILD_BENCH=OFF
        -DTENURE_BUILD_PROGRAM=OFF
        -DTENURE_UNITY=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tenure)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
