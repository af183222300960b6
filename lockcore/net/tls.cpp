#include "tls.hpp"

#include <map>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdexcept>
#include <utility>

#include "ip_address.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "pem_text.hpp"

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

std::string lastError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL error " + std::to_string(code);
}

using Tickets = std::map<std::string, SessionTicket>;

class Session final : public TlsSession {
 public:
  Session(SSL_CTX& context, Tickets& tickets, const std::string& host, std::uint16_t port)
      : tickets_{tickets},
        host_{host},
        key_{host + ":" + std::to_string(port)},
        ssl_{SSL_new(&context)},
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
    if (const auto known = tickets.find(key_); known != tickets.end()) {
      SSL_set_session(ssl_.get(), known->second.get());
      tickets.erase(known);  // if a ticket is used twice, an observer can link two connections (RFC 8446, C.4)
    }
  }

  ~Session() override {
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
      return fail("the TLS stream is broken (" + lastError() + ")");
    }
  }

  bool write(std::string_view plain, std::string& out) override {
    ERR_clear_error();
    const bool good = SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())) > 0;
    flush(out);
    if (!good) why_ = "the TLS stream is broken (" + lastError() + ")";
    return good;
  }

  const std::string& why() const override { return why_; }

  void keepTicket(SSL_SESSION* ticket) { tickets_[key_].reset(ticket); }

 private:
  void demandName() {
    X509_VERIFY_PARAM* demands = SSL_get0_param(ssl_.get());
    X509_VERIFY_PARAM_set_hostflags(demands, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool isAddress = parseIpAddress(host_).has_value();
    const bool set = isAddress ? X509_VERIFY_PARAM_set1_ip_asc(demands, host_.c_str()) == 1
                               : X509_VERIFY_PARAM_set1_host(demands, host_.c_str(), host_.size()) == 1;
    // Without this check any trusted certificate would be accepted.
    if (!set) throw std::runtime_error("OpenSSL does not accept \"" + host_ + "\" as a host name");
    // SSL_set_tlsext_host_name() is a macro with a C cast.
    if (!isAddress) SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host_.data());
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
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
    if (verdict == X509_V_OK) return "the TLS handshake failed (" + lastError() + ")";
    ERR_clear_error();
    std::string hint = "; check the certificate of the server";
    if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID) {
      hint += " and the clock of this machine";
    } else if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      hint += ": it must be issued for the name " + host_;
    } else {
      hint += ", and whether its issuer is in the trust store or CA file in use";
    }
    return std::string{"the certificate was refused ("} + X509_verify_cert_error_string(verdict) + ")" + hint;
  }

  Tickets& tickets_;
  std::string host_;
  const std::string key_;
  std::unique_ptr<SSL, Free<SSL_free>> ssl_;
  BIO* in_;  // both belong to ssl_
  BIO* out_;
  std::string why_{};
};

int onNewTicket(SSL* ssl, SSL_SESSION* ticket) {
  static_cast<Session*>(SSL_get_app_data(ssl))->keepTicket(ticket);
  return 1;  // the session belongs to us now
}

class Context final : public TlsContext {
 public:
  explicit Context(const TlsFiles& files) : context_{(leaveOpenSslAtExit(), SSL_CTX_new(TLS_client_method()))} {
    if (!context_) throw std::runtime_error("OpenSSL does not start (" + lastError() + ")");
    SSL_CTX* raw = context_.get();
    if (SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1) {
      throw std::runtime_error("OpenSSL cannot be limited to TLS 1.2 and later (" + lastError() + ")");
    }
    SSL_CTX_set_options(raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(raw, onNewTicket);
    static constexpr unsigned char protocols[] = "\x08http/1.1";
    SSL_CTX_set_alpn_protos(raw, protocols, sizeof protocols - 1);
    trust(files);
    if (!files.certificateText.empty() || !files.keyText.empty()) {
      introduceText(*raw, files.certificateText, files.keyText);
    } else if (!files.certificate.empty() || !files.key.empty()) {
      introduce(files);
    }
  }

  std::unique_ptr<TlsSession> session(const std::string& host, std::uint16_t port) override {
    return std::make_unique<Session>(*context_, tickets_, host, port);
  }

 private:
  void trust(const TlsFiles& files) {
    const std::string& caFile = files.caFile;
    if (!files.caText.empty()) return trustText(*context_, files.caText);
    if (caFile.empty()) {
      if (SSL_CTX_set_default_verify_paths(context_.get()) == 1) return;
      throw std::runtime_error("the system's trust store cannot be used (" + lastError() + ")");
    }
    requireFile("CA file " + caFile, caFile);
    if (SSL_CTX_load_verify_file(context_.get(), caFile.c_str()) == 1) return;
    refuse("CA file " + caFile, "no certificate can be read from it");
  }

  void introduce(const TlsFiles& files) {
    const std::string certificate = "client certificate " + files.certificate;
    const std::string key = "key " + files.key + " of the client certificate";
    if (files.certificate.empty()) throw std::runtime_error(key + ": the certificate is missing; a key needs one");
    if (files.key.empty()) throw std::runtime_error(certificate + ": its key is missing; give the path of both");
    requireFile(certificate, files.certificate);
    requireFile(key, files.key);
    if (SSL_CTX_use_certificate_chain_file(context_.get(), files.certificate.c_str()) != 1) {
      refuse(certificate, "no certificate can be read from it");
    }
    bool isEncrypted = false;
    SSL_CTX_set_default_passwd_cb(context_.get(), refusePassword);
    SSL_CTX_set_default_passwd_cb_userdata(context_.get(), &isEncrypted);
    const bool good = SSL_CTX_use_PrivateKey_file(context_.get(), files.key.c_str(), SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context_.get(), nullptr);
    if (good && SSL_CTX_check_private_key(context_.get()) == 1) return;
    if (isEncrypted) {
      throw std::runtime_error(key +
                               ": it is encrypted, and nobody is there to ask for its password; decrypt it, and "
                               "let only its owner read the file");
    }
    // OpenSSL compares a key that it reads with the certificate.
    if (ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH ||
        ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_TYPE_MISMATCH) {
      ERR_clear_error();
      throw std::runtime_error(key + ": it belongs to another certificate than " + files.certificate);
    }
    refuse(key, "no private key can be read from it");
  }

  static int refusePassword(char* /*room*/, int /*size*/, int /*writes*/, void* wasAsked) {
    if (wasAsked != nullptr) *static_cast<bool*>(wasAsked) = true;
    return -1;
  }

  /// OpenSSL would wait for a pipe, and for a missing file its message is a number and "system lib".
  static void requireFile(const std::string& what, const std::string& path) {
    if (const std::string why = refusalOf(path); !why.empty()) throw std::runtime_error(what + " " + why);
  }

  [[noreturn]] static void refuse(const std::string& what, const std::string& why) {
    throw std::runtime_error(what + ": " + why + " (" + lastError() + "); it must be a readable PEM file");
  }

  Tickets tickets_{};  // destroyed after objects that may still put a ticket into it
  std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>> context_;
};

}  // namespace

std::unique_ptr<TlsContext> TlsContext::make(const TlsFiles& files) { return std::make_unique<Context>(files); }

}  // namespace tenure::net
