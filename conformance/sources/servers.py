"""Git, OCI and S3 servers on loopback that behave as a case wants them to, badly if need be."""

import base64
import hashlib
import http.client
import os
import re
import ssl
import subprocess
import threading
import time
import urllib.parse
import xml.sax.saxutils
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STALL = 90  # seconds; longer than any case's timeout
GARBAGE = b"<!doctype html>\n<title>gateway</title>\n"
PAGE = 2  # objects in a page of a bucket's list


class Answer:
    """A status, fields of the head, and a body."""

    def __init__(self, status, fields=(), body=b""):
        self.status, self.fields, self.body = status, list(fields), body


class Fault:
    """What a server does instead of answering: on requests that match, and until it is healed."""

    def __init__(self, description):
        self.on = re.compile(description.get("on", "."))
        self.kind = description["do"]
        self.description = description
        self.healed = threading.Event()
        # One that is described as later begins with the step that says so.
        self.begun = "later" not in description

    def matches(self, method, path):
        return self.begun and not self.healed.is_set() and self.on.search(f"{method} {path}")

    def play(self, handler, make):
        """Answers in its way; `make` is what a healthy server does."""
        if self.kind == "stall":
            # Whoever waits for ever is let go when the server is well again.
            self.healed.wait(STALL) if self.description.get("release") else time.sleep(STALL)
            handler.close_connection = True
        elif self.kind == "status":
            fields = list(self.description.get("fields", {}).items())
            handler.give(Answer(self.description["status"], fields, self.description.get("body", "").encode()))
        elif self.kind == "drop":
            handler.close_connection = True
        else:
            answer = make()
            keep = self.description.get("keep", len(answer.body) // 2)
            if self.kind in ("garbage", "truncate") and handler.command != "HEAD":
                answer.fields = [it for it in answer.fields if it[0].lower() != "content-length"]
                answer.body = GARBAGE if self.kind == "garbage" else answer.body[:keep]
            elif self.kind == "flip" and self.description.get("holding", "").encode() in answer.body:
                at = len(answer.body) - 30
                answer.body = answer.body[:at] + bytes([answer.body[at] ^ 1]) + answer.body[at + 1:]
            handler.give(answer, keep if self.kind == "cut" else None)


class Handler(BaseHTTPRequestHandler):
    """One request: the fault of its case, or what the service answers."""

    protocol_version = "HTTP/1.1"
    service = None

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        make = lambda: self.service.answer(self.command, self.path, self.headers, body)
        fault = self.service.fault(self.path)
        if fault and fault.matches(self.command, self.path):
            fault.play(self, make)
        else:
            self.give(make())

    do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = answer

    def give(self, answer, cut=None):
        self.send_response(answer.status)
        length = str(len(answer.body))
        for name, value in answer.fields:
            if name.lower() == "content-length":
                length = value
            else:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body if cut is None else answer.body[:cut])
        if cut is not None:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        """Clients that hang up are what is being tested."""


def serve(service, certificate=None):
    """Serves on loopback, and says on which port."""
    server = Quiet(("127.0.0.1", 0), type("Bound", (Handler,), {"service": service}))
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


class Service:
    """What is common: which case a request belongs to."""

    def __init__(self):
        self.cases = {}

    def name(self, path):
        return path.lstrip("/").split("?")[0].split("/")[0]

    def settings(self, path):
        return self.cases.get(self.name(path), {})

    def fault(self, path):
        return self.settings(path).get("fault")


def is_user(headers, wanted):
    return headers.get("Authorization") == "Basic " + base64.b64encode(wanted.encode()).decode()


class Git(Service):
    """git's own server program."""

    def __init__(self):
        super().__init__()
        self.root = ""

    def name(self, path):
        return super().name(path).removesuffix(".git")

    def answer(self, method, path, headers, body):
        user = self.settings(path).get("user")
        if user and not is_user(headers, user):
            return Answer(401, [("WWW-Authenticate", 'Basic realm="git"')], b"who are you?\n")
        path, _, query = path.partition("?")
        name, _, rest = path.lstrip("/").partition("/")
        environment = dict(
            os.environ, GIT_PROJECT_ROOT=str(self.root), GIT_HTTP_EXPORT_ALL="1", PATH_INFO=f"/{name.removesuffix('.git')}/.git/{rest}",
            QUERY_STRING=query, REQUEST_METHOD=method, CONTENT_TYPE=headers.get("Content-Type", ""), CONTENT_LENGTH=str(len(body)),
            GIT_PROTOCOL=headers.get("Git-Protocol", ""), HTTP_CONTENT_ENCODING=headers.get("Content-Encoding", ""))
        out = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True).stdout
        head, _, content = out.partition(b"\r\n\r\n")
        fields = [tuple(line.split(": ", 1)) for line in head.decode().splitlines()]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        return Answer(status, [it for it in fields if it[0] != "Status"], content)


class Registry(Service):
    """The real registry behind a door."""

    def __init__(self, port, guard=""):
        super().__init__()
        self.port, self.guard = port, guard

    def name(self, path):
        parts = path.split("?")[0].split("/")
        return parts[2] if len(parts) > 3 else ""

    def answer(self, method, path, headers, body):
        if path.startswith("/token"):
            if not is_user(headers, "user:secret"):
                return Answer(401, [("Content-Type", "application/json")], b'{"errors": [{"code": "UNAUTHORIZED", "message": "who are you?"}]}')
            return Answer(200, [("Content-Type", "application/json")], b'{"token": "granted"}')
        challenge = None
        if self.guard == "basic" and not is_user(headers, "user:secret"):
            challenge = 'Basic realm="registry"'
        elif self.guard == "token" and headers.get("Authorization") != "Bearer granted":
            challenge = f'Bearer realm="http://{headers["Host"]}/token",service="registry"'
        if challenge:
            fields = [("WWW-Authenticate", challenge), ("Content-Type", "application/json")]
            return Answer(401, fields, b'{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}')
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        sent = {name: value for name, value in headers.items() if name.lower() not in ("authorization", "accept-encoding", "connection")}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        dropped = ("connection", "transfer-encoding", "date")
        fields = [(name, value) for name, value in answer.getheaders() if name.lower() not in dropped]
        return Answer(answer.status, fields, answer.read())


def element(name, text):
    return f"<{name}>{xml.sax.saxutils.escape(text)}</{name}>"


class Buckets(Service):
    """As much of S3 as a client that reads needs. Signatures are not checked, the name of the key is."""

    def answer(self, method, path, headers, body):
        path, _, query = path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        bucket, _, key = urllib.parse.unquote(path).lstrip("/").partition("/")
        settings = self.settings(path)
        objects = settings.get("objects")
        if objects is None:
            return self.error(404, "NoSuchBucket", "The specified bucket does not exist", bucket)
        wanted = settings.get("key")
        if wanted and f"Credential={wanted}/" not in headers.get("Authorization", ""):
            return self.error(403, "InvalidAccessKeyId", "The Access Key Id you provided does not exist in our records.", bucket)
        region = settings.get("region")
        if region and "location" not in query and f"/{region}/s3/" not in headers.get("Authorization", ""):
            return self.error(400, "AuthorizationHeaderMalformed", f"The authorization header is malformed; expecting '{region}'", bucket)
        if not key:
            return self.about_bucket(method, bucket, query, objects)
        content = objects.get(key)
        if content is None:
            return self.error(404, "NoSuchKey", "The specified key does not exist.", bucket)
        return Answer(200, [("ETag", f'"{etag(content)}"'), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"),
                            ("Accept-Ranges", "bytes"), ("Content-Type", "application/octet-stream"), ("Content-Length", str(len(content)))], content)

    def about_bucket(self, method, bucket, query, objects):
        kind = [("Content-Type", "application/xml")]
        if method == "HEAD":
            return Answer(200, kind)
        if "location" in query:
            return Answer(200, kind, b'<?xml version="1.0"?><LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>')
        keys = sorted(key for key in objects if key.startswith(query.get("prefix", "")))
        first = int(query.get("continuation-token") or 0)
        shown = keys[first:first + PAGE]
        more = first + PAGE < len(keys)
        encoded = urllib.parse.quote if query.get("encoding-type") == "url" else str
        text = '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' + element("Name", bucket)
        text += element("IsTruncated", "true" if more else "false") + element("KeyCount", str(len(shown)))
        if more:
            text += element("NextContinuationToken", str(first + PAGE))
        if encoded is not str:
            text += element("EncodingType", "url")
        for key in shown:
            text += "<Contents>" + element("Key", encoded(key)) + element("LastModified", "2026-01-01T00:00:00.000Z")
            text += element("ETag", f'"{etag(objects[key])}"') + element("Size", str(len(objects[key]))) + "</Contents>"
        return Answer(200, kind, (text + "</ListBucketResult>").encode())

    def error(self, status, code, message, bucket):
        text = '<?xml version="1.0"?><Error>' + element("Code", code) + element("Message", message) + element("BucketName", bucket)
        return Answer(status, [("Content-Type", "application/xml")], (text + "<RequestId>1</RequestId></Error>").encode())


def etag(content):
    return hashlib.md5(content).hexdigest()
