#include "service_access.hpp"

#include <stdexcept>
#include <utility>

#include "text.hpp"

namespace tenure::aws {
namespace {

void check(const JsonClientOptions& options) {
  if (!options.region.empty() && !isHostLabel(options.region)) {
    throw std::invalid_argument("region: \"" + forPeople(options.region, 80) +
                                "\" is not an AWS region; write one such as eu-central-1");
  }
  if (!options.endpoint.empty()) {
    const auto url = net::parseUrl(options.endpoint);
    if (!url) throw std::invalid_argument("endpoint: " + url.error().message);
  }
}

}  // namespace

ServiceAccess::ServiceAccess(JsonClientOptions options, ClientParts parts, Logger logger)
    : options_{std::move(options)},
      parts_{std::move(parts)},
      logger_{std::move(logger)},
      clock_{parts_.environment.wallClockMillis} {
  check(options_);
  // Everything that needs no network is found at once, so that the first connections are ready before the first call.
  const auto config = loadConfig();
  if (!config) return;  // the file may name the trusted certificates; fetch() continues when it can be read
  makeHttp(*config);
  const std::string region = findRegion(parts_.environment, *config, wishes());
  auto place = findPlace(parts_.environment, *config, wishes(), region, {});
  if (!region.empty() && place) setTarget(*std::move(place));
  warnOf(*config);
}

StoreResult<Credentials> ServiceAccess::fetch(const std::stop_token& stop) {
  const auto config = loadConfig();
  if (!config) return config.error();
  if (!http_) makeHttp(*config);
  FetchContext context{parts_.environment, *config, http_, parts_.makeHttp, clock_, stop, logger_, parts_.limits};
  context.profile = options_.profile;
  if (!target()) {
    auto place = find(context);
    if (!place) return place.error();
    setTarget(*std::move(place));
  }
  context.region = target()->place.region;
  std::optional<Keys> keys;
  if (const auto& given = options_.credentials)
    keys = {given->accessKeyId, given->secretAccessKey, given->sessionToken};
  return findCredentials(context, {std::move(keys), options_.profile});
}

std::shared_ptr<const Target> ServiceAccess::target() const {
  const std::lock_guard lock{mutex_};
  return target_;
}

std::string ServiceAccess::describe() const {
  const auto known = target();
  if (!known) return options_.service + ", region and endpoint not known yet";
  const net::Origin& origin = known->place.endpoint.origin;
  return (origin.tls ? "https://" : "http://") + hostHeader(origin) + ", region " + known->place.region;
}

PlaceWishes ServiceAccess::wishes() const {
  return {options_.service, options_.region, options_.endpoint, options_.profile};
}

/// A profile that is named and missing, or that has a line which is not understood, is an error even where it might not
/// matter, because it could name the endpoint: another one has another table. A program that supplies everything itself
/// does not need the files.
StoreResult<SharedConfig> ServiceAccess::loadConfig() const {
  if (options_.credentials && !options_.region.empty() && !options_.endpoint.empty()) return SharedConfig{};
  SharedConfig config = SharedConfig::load(parts_.environment);
  if (!config.unread().empty() && !needsNoFile()) {
    return StoreError{ErrorClass::credentials,
                      config.unread() +
                          "; it could say which keys and which endpoint are meant: let this user read it, or set "
                          "AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE to other files"};
  }
  if (const auto profile = config.inUse(parts_.environment, options_.profile); !profile) return profile.error();
  return config;
}

/// A file that this user may not read is passed over only then, as in botocore. Without keys, the search would go on to
/// those of another account behind it; an account has its own tables.
bool ServiceAccess::needsNoFile() const {
  const AwsEnvironment& environment = parts_.environment;
  const bool keys = options_.credentials || (!environment.get("AWS_ACCESS_KEY_ID").empty() &&
                                             !environment.get("AWS_SECRET_ACCESS_KEY").empty());
  return keys && !findRegion(environment, {}, wishes()).empty() &&
         namedProfile(environment, options_.profile).name.empty();
}

void ServiceAccess::warnOf(const SharedConfig& config) const {
  if (!config.unread().empty()) {
    logger_.log(LogLevel::warn, "AWS's shared files count as empty, because the environment has keys and region: " +
                                    config.unread() + "; " + describe() + ", is asked");
  }
  if (!config.absent().empty()) {
    logger_.log(LogLevel::warn, config.absent() + ", which is not there and counts as an empty file");
  }
}

StoreResult<Place> ServiceAccess::find(FetchContext& context) const {
  std::string region = findRegion(parts_.environment, context.config, wishes());
  std::string lookedAt;
  if (region.empty()) {
    std::string why;
    region = regionOfInstance(context, why);
    if (region.empty()) lookedAt = ", and EC2's instance metadata does not give it (" + why + ')';
  }
  return findPlace(parts_.environment, context.config, wishes(), region, lookedAt);
}

void ServiceAccess::makeHttp(const SharedConfig& config) {
  const AwsEnvironment& environment = parts_.environment;
  const Profile* profile = config.find(profileName(environment, options_.profile));
  net::HttpClientOptions http;
  http.caFile = options_.caFile;
  if (http.caFile.empty()) http.caFile = environment.expandHome(environment.get("AWS_CA_BUNDLE"));
  if (http.caFile.empty() && profile != nullptr) http.caFile = environment.expandHome(profile->get("ca_bundle"));
  if (http.caFile.empty()) http.caFile = environment.get("REQUESTS_CA_BUNDLE");  // botocore's last place
  http.proxy = net::ProxySettings::from(net::ProxyRules::botocore, [&](const char* name) -> const char* {
    const auto found = environment.variables.find(name);
    return found != environment.variables.end() ? found->second.c_str() : nullptr;
  });
  http.maxConnections = options_.maxConnections;
  http.maxReply = options_.maxReply;
  http.logger = logger_;
  http_ = parts_.makeHttp(std::move(http));
}

void ServiceAccess::setTarget(Place place) {
  constexpr std::size_t ready =
      4;  // copies of requests that a line lost go out on the others; if one breaks, no call waits for a handshake
  const net::Origin origin = place.endpoint.origin;
  auto made = std::make_shared<const Target>(std::move(place), http_, options_);
  {
    const std::lock_guard lock{mutex_};
    target_ = std::move(made);
  }
  http_->preconnect(origin, ready);
}

}  // namespace tenure::aws
