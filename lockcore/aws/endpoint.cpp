#include "endpoint.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "text.hpp"

namespace tenure::aws {
namespace {

struct Partition {
  std::string_view regionPrefix;
  std::string_view suffix;
  std::string_view dualStackSuffix;
};

// From the partitions in AWS's endpoint rules. The first match counts; the last row is the partition "aws".
constexpr std::array<Partition, 8> partitions{{
    {"cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
    {"us-gov-", "amazonaws.com", "api.aws"},
    {"us-iso-", "c2s.ic.gov", "api.aws.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov", "api.aws.scloud"},
    {"us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
    {"eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
    {"eusc-", "amazonaws.eu", "api.amazonwebservices.eu"},
    {"", "amazonaws.com", "api.aws"},
}};

/// An error in the options, the environment or the profile, which waiting does not mend.
StoreError misconfigured(std::string message) { return {ErrorClass::misconfigured, std::move(message), true}; }

struct Found {
  std::string text{};
  std::string where{};
};

Found firstOf(std::initializer_list<Found> candidates) {
  for (const Found& candidate : candidates) {
    if (!candidate.text.empty()) return candidate;
  }
  return {};
}

bool wants(const AwsEnvironment& environment, const Profile* profile, const char* variable, const char* key) {
  if (!environment.get(variable).empty()) return environment.isTrue(variable);
  return profile != nullptr && lowered(profile->get(key)) == "true";
}

/// For messages.
std::string placeOf(const Profile& profile, const char* key) {
  return std::string{key} + " of profile " + forPeople(profile.name, 80) + " (" + profile.where + ')';
}

/// A configured endpoint. AWS_IGNORE_CONFIGURED_ENDPOINT_URLS disables all of them except the program's own.
StoreResult<Found> configuredEndpoint(const AwsEnvironment& environment, const SharedConfig& config,
                                      const PlaceWishes& wishes) {
  if (!wishes.endpoint.empty()) return Found{wishes.endpoint, "the configured endpoint"};
  const Profile* profile = config.find(profileName(environment, wishes.profile));
  if (wants(environment, profile, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls")) {
    return Found{};
  }
  const std::string own = "AWS_ENDPOINT_URL_" + uppered(wishes.service);
  Found variable = firstOf({{environment.get(own), own}, {environment.get("AWS_ENDPOINT_URL"), "AWS_ENDPOINT_URL"}});
  if (!variable.text.empty() || profile == nullptr) return variable;
  const auto inServices = config.serviceEndpoint(*profile, wishes.service);
  if (!inServices) return inServices.error();
  return firstOf({{*inServices, "endpoint_url of " + wishes.service + " in the section that " +
                                    placeOf(*profile, "services") + " names"},
                  {profile->word("endpoint_url"), placeOf(*profile, "endpoint_url")}});
}

Found regionFrom(const AwsEnvironment& environment, const SharedConfig& config, const PlaceWishes& wishes) {
  const Profile* profile = config.find(profileName(environment, wishes.profile));
  return firstOf({{wishes.region, "the option region"},
                  {environment.get("AWS_REGION"), "AWS_REGION"},
                  {environment.get("AWS_DEFAULT_REGION"), "AWS_DEFAULT_REGION"},
                  {profile == nullptr ? std::string{} : profile->word("region"),
                   profile == nullptr ? std::string{} : placeOf(*profile, "region")}});
}

}  // namespace

std::string findRegion(const AwsEnvironment& environment, const SharedConfig& config, const PlaceWishes& wishes) {
  return regionFrom(environment, config, wishes).text;
}

StoreResult<Place> findPlace(const AwsEnvironment& environment, const SharedConfig& config, const PlaceWishes& wishes,
                             const std::string& region, const std::string& lookedAt) {
  const std::string profileText = profileName(environment, wishes.profile);
  if (region.empty()) {  // it may still come from the instance's metadata or a file
    return StoreError{
        ErrorClass::misconfigured,
        "no AWS region: the option region, AWS_REGION and AWS_DEFAULT_REGION are not set, and the profile " +
            profileText + " in " + config.paths() + " has none" + lookedAt +
            "; set AWS_REGION or the option region, for instance to eu-central-1"};
  }
  if (!isHostLabel(region)) {
    const std::string where = regionFrom(environment, config, wishes).where;
    return misconfigured((where.empty() ? "the region of this machine" : where) + ": \"" + forPeople(region, 80) +
                         "\" is not an AWS region; write one such as eu-central-1");
  }
  const auto given = configuredEndpoint(environment, config, wishes);
  if (!given) return given.error();
  if (!given->text.empty()) {
    auto url = net::parseUrl(given->text);
    if (!url) return misconfigured(given->where + " is not a usable URL: " + url.error().message);
    return Place{region, *std::move(url)};
  }
  if (region == "local") {
    return misconfigured(
        "the region \"local\" has no default endpoint; give one, for instance the option endpoint "
        "or AWS_ENDPOINT_URL_" +
        uppered(wishes.service) + " with http://localhost:8000");
  }
  const Profile* profile = config.find(profileText);
  const EndpointVariant variant{wants(environment, profile, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
                                wants(environment, profile, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint")};
  return Place{region, net::Url{net::Origin{true, regionalHost(wishes.service, region, variant), 443}, "/"}};
}

std::string regionalHost(const std::string& service, const std::string& region, EndpointVariant variant) {
  const auto partition = std::find_if(partitions.begin(), partitions.end(),
                                      [&](const Partition& one) { return region.starts_with(one.regionPrefix); });
  const std::string_view suffix = variant.dualStack ? partition->dualStackSuffix : partition->suffix;
  // In us-gov the plain endpoints are the FIPS endpoints, but not those of S3.
  const bool plainIsFips = partition->regionPrefix == "us-gov-" && !variant.dualStack && service != "s3";
  const bool plain = !variant.fips || plainIsFips;
  const std::string name = plain ? service : service + "-fips";
  // S3 is older than the naming scheme for dual-stack endpoints.
  if (service == "s3" && variant.dualStack) return name + ".dualstack." + region + '.' + std::string{partition->suffix};
  return name + '.' + region + '.' + std::string{suffix};
}

}  // namespace tenure::aws
