#include "tls.hpp"

#include <map>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdexcept>
#include <utility>

#include "authority.hpp"
#include "ip_address.hpp"
#include "pem_text.hpp"
#include "tls_faults.hpp"

namespace tenure::net {

void leaveOpenSslAtExit() noexcept {
  static const int once = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  static_cast<void>(once);  // if this failed, every use of OpenSSL fails too, and reports it
}

namespace {

template <auto F>
struct Free {
  template <class T>
  void operator()(T* p) const noexcept {
    F(p);
  }
};
using SessionTicket = std::unique_ptr<SSL_SESSION, Free<SSL_SESSION_free>>;

/// What was read at one moment. Sessions keep it, also when newer files have taken its place.
struct Loaded {
  std::map<std::string, SessionTicket> tickets{};  ///< destroyed after the context, which may still put one into it
  std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>> context{};
  std::string authorities{};  ///< "CA file ./ca.pem"
  std::string own{};          ///< "client certificate ./c.pem" and what it says; empty: there is none
  std::string staleReason{};  ///< why newer files are not in use
  bool doubted{false};        ///< a handshake failed: newer files may be there
  /// Shared by all that was read while this side's certificate was the same: another one is in use.
  std::shared_ptr<bool> ownReplaced{std::make_shared<bool>(false)};
};
using LoadedPtr = std::shared_ptr<Loaded>;

class Session final : public TlsSession {
 public:
  Session(LoadedPtr loaded, const std::string& host, std::uint16_t port)
      : loaded_{std::move(loaded)},
        host_{withoutLastDot(host)},
        key_{host + ":" + std::to_string(port)},
        ssl_{SSL_new(loaded_->context.get())},
        in_{BIO_new(BIO_s_mem())},
        out_{BIO_new(BIO_s_mem())} {
    if (!ssl_ || in_ == nullptr || out_ == nullptr) {
      BIO_free(in_);
      BIO_free(out_);
      throw std::bad_alloc{};
    }
    BIO_set_mem_eof_return(in_, -1);  // an empty buffer means "later", not "end"
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_connect_state(ssl_.get());
    demandName();
    if (const auto known = loaded_->tickets.find(key_); known != loaded_->tickets.end()) {
      SSL_set_session(ssl_.get(), known->second.get());
      loaded_->tickets.erase(known);  // if a ticket is used twice, an observer can link two connections (RFC 8446, C.4)
    }
  }

  ~Session() override {
    if (!ready_) loaded_->doubted = true;
    // OpenSSL invalidates the ticket of a connection that ends without a shutdown message.
    SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  State handshake(std::string_view received, std::string& out) override {
    take(received);
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    flush(out);
    ready_ = ready_ || result == 1;
    if (result == 1) return State::ready;
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return State::more;
    return fail(handshakeFault());
  }

  State read(std::string_view received, std::string& plain, std::string& out) override {
    take(received);
    for (;;) {
      char room[4096];
      ERR_clear_error();
      const int count = SSL_read(ssl_.get(), room, sizeof room);
      if (count > 0) {
        plain.append(room, static_cast<std::size_t>(count));
        continue;
      }
      const int reason = SSL_get_error(ssl_.get(), count);
      flush(out);  // an answer to a key update
      if (reason == SSL_ERROR_WANT_READ) return State::more;
      if (reason == SSL_ERROR_ZERO_RETURN) return State::ended;
      const std::string error = clientFault();
      return fail(error.empty() ? "the TLS stream is broken (" + lastTlsError() + ")" : withStaleReason(error));
    }
  }

  bool write(std::string_view plain, std::string& out) override {
    ERR_clear_error();
    const bool good = SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())) > 0;
    flush(out);
    if (!good) why_ = "the TLS stream is broken (" + lastTlsError() + ")";
    return good;
  }

  const std::string& why() const override { return why_; }
  bool isOursRefused() const override { return oursRefused_; }
  bool showsOldCertificate() const override { return *loaded_->ownReplaced; }

  void keepTicket(SSL_SESSION* ticket) { loaded_->tickets[key_].reset(ticket); }
  void noteDemand() { demanded_ = true; }
  void noteRefused(const X509* certificate) {
    if (certificate != nullptr && refused_.empty()) refused_ = describe(*certificate);
  }

 private:
  void demandName() {
    X509_VERIFY_PARAM* demands = SSL_get0_param(ssl_.get());
    // As for Go, a common name is no name of a host (RFC 9525, 2).
    X509_VERIFY_PARAM_set_hostflags(demands,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const bool isAddress = parseIpAddress(host_).has_value();
    const bool set = isAddress ? X509_VERIFY_PARAM_set1_ip_asc(demands, host_.c_str()) == 1
                               : X509_VERIFY_PARAM_set1_host(demands, host_.c_str(), host_.size()) == 1;
    // Without this check any trusted certificate would be accepted.
    if (!set) throw std::runtime_error("OpenSSL does not accept \"" + host_ + "\" as a host name");
    // Its wildcards cover no label with an underscore, those of Go and curl do. The wildcard itself counts as a name.
    const std::size_t dot = host_.find('.');
    if (host_.find('_') < dot && host_.find('.', dot + 1) != std::string::npos) {
      X509_VERIFY_PARAM_add1_host(demands, ("*" + host_.substr(dot)).c_str(), 0);
    }
    // SSL_set_tlsext_host_name() is a macro with a C cast.
    if (!isAddress) SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host_.data());
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, onVerified);
  }

  void take(std::string_view received) {
    if (!received.empty()) BIO_write(in_, received.data(), static_cast<int>(received.size()));
  }

  void flush(std::string& out) {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(out_, &bytes);
    if (count <= 0) return;
    out.append(bytes, static_cast<std::size_t>(count));
    BIO_reset(out_);
  }

  State fail(std::string why) {
    why_ = std::move(why);
    return State::failed;
  }

  std::string handshakeFault() {
    const long verdict = SSL_get_verify_result(ssl_.get());
    std::string fault = verdict == X509_V_OK ? clientFault() : std::string{};
    if (fault.empty()) {
      fault = verdict == X509_V_OK ? "the TLS handshake failed (" + lastTlsError() + ")"
                                   : certificateFault(verdict, refused_, host_, loaded_->authorities);
    }
    ERR_clear_error();
    return withStaleReason(fault);
  }

  /// What was refused may have been replaced by what cannot be used.
  [[nodiscard]] std::string withStaleReason(const std::string& fault) const {
    return loaded_->staleReason.empty() ? fault : fault + ". " + loaded_->staleReason;
  }

  /// Empty: the last call failed for another reason.
  std::string clientFault() {
    const std::string alert = alertAboutOurs(demanded_);
    if (alert.empty()) return {};
    oursRefused_ = loaded_->doubted = true;
    ERR_clear_error();
    if (loaded_->own.empty()) return "the server demands a client certificate, and none is given (" + alert + ")";
    return "the server refused our " + loaded_->own + " (" + alert +
           "); does the server trust its issuer, and are its time and use what the server demands?";
  }

  /// OpenSSL says whether it accepts a certificate of the server.
  static int onVerified(int isGood, X509_STORE_CTX* verification) {
    if (isGood == 1) return isGood;
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
    static_cast<Session*>(SSL_get_app_data(ssl))->noteRefused(X509_STORE_CTX_get_current_cert(verification));
    return isGood;
  }

  const LoadedPtr loaded_;
  std::string host_;
  const std::string key_;
  std::unique_ptr<SSL, Free<SSL_free>> ssl_;
  BIO* in_;  // both belong to ssl_
  BIO* out_;
  bool ready_{false};
  bool demanded_{false};  ///< the server has asked for a certificate, and there is none
  bool oursRefused_{false};
  std::string refused_{};  ///< the certificate of the server that was refused
  std::string why_{};
};

int onNewTicket(SSL* ssl, SSL_SESSION* ticket) {
  static_cast<Session*>(SSL_get_app_data(ssl))->keepTicket(ticket);
  return 1;  // the session belongs to us now
}

/// Called where the server asks for a certificate and none is there.
int onDemand(SSL* ssl, X509** /*certificate*/, EVP_PKEY** /*key*/) {
  static_cast<Session*>(SSL_get_app_data(ssl))->noteDemand();
  return 0;  // goes on without one
}

/// OpenSSL finds a certificate in a directory only under the name that `openssl rehash` makes. Go, and so kubectl and
/// etcdctl, reads each file of the directories of SSL_CERT_DIR, and goes on where one has no certificate.
void trustSystem(SSL_CTX& context) {
  (void)SSL_CTX_load_verify_locations(&context, systemsFile().c_str(), nullptr);
  for (const std::string& directory : systemsDirectories()) {
    (void)SSL_CTX_load_verify_locations(&context, nullptr, directory.c_str());
  }
  for (const std::string& file : filesOfSystemsDirectories()) {
    (void)SSL_CTX_load_verify_locations(&context, file.c_str(), nullptr);
  }
  ERR_clear_error();
}

LoadedPtr loadedFrom(const CertificateTexts& texts) {
  auto loaded = std::make_shared<Loaded>();
  loaded->context.reset((leaveOpenSslAtExit(), SSL_CTX_new(TLS_client_method())));
  SSL_CTX* raw = loaded->context.get();
  if (raw == nullptr) throw std::runtime_error("OpenSSL does not start (" + lastTlsError() + ")");
  if (SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1) {
    throw std::runtime_error("OpenSSL cannot be limited to TLS 1.2 and later (" + lastTlsError() + ")");
  }
  SSL_CTX_set_options(raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  // Each trusted certificate is an anchor, an intermediate or the server's own one too, as for curl and Go.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(raw), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(raw, onNewTicket);
  SSL_CTX_set_client_cert_cb(raw, onDemand);
  static constexpr unsigned char protocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(raw, protocols, sizeof protocols - 1);
  loaded->authorities = texts.authorities.name;
  if (!texts.ofSystem) {
    trustText(*raw, texts.authorities);
  } else {
    trustSystem(*raw);
  }
  if (texts.certificate.name.empty()) return loaded;
  introduceText(*raw, texts.certificate, texts.key);
  loaded->own = texts.certificate.name + ", " + describe(*SSL_CTX_get0_certificate(raw));
  return loaded;
}

class Context final : public TlsContext {
 public:
  Context(TlsFiles files, Logger logger) : files_{std::move(files)}, logger_{std::move(logger)} {
    texts_ = files_.read();
    loaded_ = loadedFrom(texts_);
  }

  std::unique_ptr<TlsSession> session(const std::string& host, std::uint16_t port) override {
    refresh();
    return std::make_unique<Session>(loaded_, host, port);
  }

  void look(std::chrono::nanoseconds now) override {
    if (now - lastLook_ < std::chrono::seconds{1}) return;
    lastLook_ = now;
    refresh();
  }

 private:
  /// What could not be used is tried again: a file may have become readable without another change.
  void refresh() {
    if (std::exchange(loaded_->doubted, false) || !loaded_->staleReason.empty() || files_.changed()) readAgain();
  }

  void readAgain() {
    try {
      CertificateTexts texts = files_.read();
      if (texts != texts_) {
        LoadedPtr next = loadedFrom(texts);
        if (texts.certificate == texts_.certificate && texts.key == texts_.key) {
          next->ownReplaced = loaded_->ownReplaced;
        } else {
          *loaded_->ownReplaced = true;
        }
        loaded_ = std::move(next);
        texts_ = std::move(texts);
        if (!texts_.ofSystem)
          logger_.log(LogLevel::info, "TLS: new connections use " + inUse() + " as changed on disk");
      }
      loaded_->staleReason.clear();
    } catch (const std::runtime_error& error) {
      const std::string reason = std::string{error.what()} + "; what was read before stays in use";
      if (std::exchange(loaded_->staleReason, reason) != reason) logger_.log(LogLevel::warn, reason);
    }
  }

  [[nodiscard]] std::string inUse() const {
    return loaded_->authorities + (loaded_->own.empty() ? "" : " and " + loaded_->own);
  }

  CertificateFiles files_;
  const Logger logger_;
  std::chrono::nanoseconds lastLook_{0};
  CertificateTexts texts_{};
  LoadedPtr loaded_{};
};

}  // namespace

std::unique_ptr<TlsContext> TlsContext::make(TlsFiles files, Logger logger) {
  return std::make_unique<Context>(std::move(files), std::move(logger));
}

}  // namespace tenure::net
