// Finds region and endpoint as AWS's SDKs find them.
#pragma once

#include <string>

#include <tenure/lockcore/store_error.hpp>

#include "lockcore/net/http_client.hpp"
#include "shared_config.hpp"

namespace tenure::aws {

struct Place {
  std::string region{};
  net::Url endpoint{};
};

/// What the program asks for. Empty texts leave the choice to the environment.
struct PlaceWishes {
  std::string service{};
  std::string region{};
  std::string endpoint{};
  std::string profile{};
};

/// From `wishes`, AWS_REGION, AWS_DEFAULT_REGION or the profile; empty if none of them names one.
[[nodiscard]] std::string findRegion(const AwsEnvironment& environment, const SharedConfig& config,
                                     const PlaceWishes& wishes);

/// If `region` is empty: misconfigured, with a list of the places that were searched (`lookedAt` is added to it).
[[nodiscard]] StoreResult<Place> findPlace(const AwsEnvironment& environment, const SharedConfig& config,
                                           const PlaceWishes& wishes, const std::string& region,
                                           const std::string& lookedAt);

struct EndpointVariant {
  bool fips{false};
  bool dualStack{false};
};

/// The host that AWS runs for a service in a region, by the region's partition.
[[nodiscard]] std::string regionalHost(const std::string& service, const std::string& region, EndpointVariant variant);

}  // namespace tenure::aws
